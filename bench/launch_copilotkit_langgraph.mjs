// `node launch_copilotkit_langgraph.mjs SERVER`: CopilotKit's runtime of today in front of a LangGraph server.
// Run from the folder that it is installed in: Node looks for packages beside the program.
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { LangGraphAgent } from "@copilotkit/runtime/langgraph";
import { CopilotRuntime, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";

const runtime = new CopilotRuntime({
  agents: { desk: new LangGraphAgent({ deploymentUrl: process.argv[2], graphId: "desk" }) },
  runner: new InMemoryAgentRunner(),
});
const server = createServer(createCopilotNodeListener({ runtime, basePath: "/copilotkit" }));
server.listen(0, "127.0.0.1", () => {
  const ready = process.env.RIGHTSEAT_READY_FILE;
  writeFileSync(`${ready}.new`, `http://127.0.0.1:${server.address().port}`);
  renameSync(`${ready}.new`, ready);
});
