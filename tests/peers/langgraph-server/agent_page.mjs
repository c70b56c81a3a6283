// CopilotKit's own client 1.10.6 as the page of a LangGraph agent: `agent_page.mjs URL HOME`, where HOME is the
// folder that the client is installed in. Prints one JSON line: what the page was shown.
import { createRequire } from "node:module";
import { join } from "node:path";

const [url, home] = process.argv.slice(2);
// By `require`: as a module for Node the client cannot find its JSON reader, and every argument is lost.
const {
  convertGqlOutputToMessages,
  convertMessagesToGqlInput,
  CopilotRuntimeClient,
  filterAgentStateMessages,
  TextMessage,
} = createRequire(join(home, "page.js"))("@copilotkit/runtime-client-gql");
const client = new CopilotRuntimeClient({ url: `${url}/copilotkit` });
const paint = {
  name: "paint",
  description: "Paints the page.",
  available: "remote",
  jsonSchema: '{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}',
};

class Page {
  constructor(thread) {
    this.thread = thread;
    this.messages = [];
    this.node = undefined;
  }

  say(content) {
    this.messages.push(new TextMessage({ role: "user", content }));
    return this.run();
  }

  async run(metaEvents = []) {
    const data = {
      frontend: { actions: [paint], url: "http://localhost:3000/" },
      threadId: this.thread,
      runId: null,
      extensions: {},
      metaEvents,
      messages: convertMessagesToGqlInput(filterAgentStateMessages(this.messages)),
      metadata: { requestType: "Chat" },
      agentSession: { agentName: "desk", threadId: this.thread, nodeName: this.node },
      agentStates: [],
      forwardedParameters: {},
      context: [],
    };
    let last;
    const reader = client.asStream(client.generateCopilotResponse({ data, properties: {} })).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) last = next.value;
    const response = last.generateCopilotResponse;
    const fresh = convertGqlOutputToMessages(response.messages);
    this.messages.push(...fresh);
    const states = fresh.filter((message) => message.isAgentStateMessage());
    this.node = states.at(-1)?.nodeName;
    return {
      status: response.status?.code,
      text: fresh.filter((message) => message.isTextMessage()).map((message) => message.content).join(""),
      calls: fresh.filter((message) => message.isActionExecutionMessage()).map((one) => [one.name, one.arguments]),
      states: states.map(({ nodeName, active, running, state }) => [nodeName, active, running, state]),
      meta: (response.metaEvents ?? []).map(({ name, value }) => ({ name, value })),
    };
  }
}

const found = {};
const listed = await client.availableAgents().toPromise();
found.agents = listed.data.availableAgents.agents.map((agent) => agent.name);
const page = new Page("page-1");
found.hello = await page.say("hello");
found.ask = await page.say("ask me");
const [event] = found.ask.meta;
found.shown = JSON.parse(event.value);
found.answered = await page.run([{ name: event.name, value: event.value, response: '{"ok":true}' }]);
found.paint = await new Page("page-2").say("paint it");
const loaded = await client.loadAgentState({ agentName: "desk", threadId: "page-1" }).toPromise();
found.loaded = loaded.data.loadAgentState;
console.log(JSON.stringify(found));
process.exit(0);
