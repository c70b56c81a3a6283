// What CopilotKit's client 1.10.6 has of `extensions` after each frame: `extensions.mjs FOLDER URL`, one JSON line out.
import { createRequire } from "node:module";

const [folder, url] = process.argv.slice(2);
const { CopilotRuntimeClient } = createRequire(`${folder}/`)("@copilotkit/runtime-client-gql");
const client = new CopilotRuntimeClient({ url, handleGQLErrors: () => {}, handleGQLWarning: () => {} });
const message = { id: "1", createdAt: new Date(), textMessage: { role: "user", content: "hi" } };
const data = { frontend: { actions: [] }, metadata: { requestType: "Chat" }, messages: [message] };
const reader = client.asStream(client.generateCopilotResponse({ data, properties: {} })).getReader();
const seen = [];
let text = [];
for (let next = await reader.read(); !next.done; next = await reader.read()) {
  const response = next.value.generateCopilotResponse;
  seen.push(response.extensions?.openaiAssistantAPI?.threadId ?? null);
  text = response.messages.flatMap((one) => one.content ?? []);
}
console.log(JSON.stringify({ seen, text: text.join("") }));
