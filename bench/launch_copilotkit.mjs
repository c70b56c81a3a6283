// `node launch_copilotkit.mjs UPSTREAM`: CopilotKit's runtime of today with its built-in agent, threads in memory.
// Run from the folder that it is installed in: Node looks for packages beside the program.
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createOpenAI } from "@ai-sdk/openai";
import { BuiltInAgent, CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const openai = createOpenAI({ apiKey: "bench", baseURL: `${process.argv[2]}/v1` });
const runtime = new CopilotRuntime({
  // By name alone it would ask another API of OpenAI's, which the bench's upstream does not speak.
  agents: { default: new BuiltInAgent({ model: openai.chat("bench") }) },
  runner: new InMemoryAgentRunner(),
});
const server = createServer(createCopilotNodeListener({ runtime, basePath: "/copilotkit" }));
server.listen(0, "127.0.0.1", () => {
  const ready = process.env.RIGHTSEAT_READY_FILE;
  writeFileSync(`${ready}.new`, `http://127.0.0.1:${server.address().port}`);
  renameSync(`${ready}.new`, ready);
});
