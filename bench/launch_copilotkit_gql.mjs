// `node launch_copilotkit_gql.mjs UPSTREAM`: CopilotKit's runtime of the GraphQL years over its OpenAI adapter.
// Run from the folder that it is installed in: Node looks for packages beside the program.
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { CopilotRuntime, OpenAIAdapter, copilotRuntimeNodeHttpEndpoint } from "@copilotkit/runtime";
import OpenAI from "openai";

const openai = new OpenAI({ apiKey: "bench", baseURL: `${process.argv[2]}/v1` });
const answer = copilotRuntimeNodeHttpEndpoint({
  endpoint: "/copilotkit",
  runtime: new CopilotRuntime(),
  serviceAdapter: new OpenAIAdapter({ openai, model: "bench" }),
  logLevel: "error",
});
const server = createServer(answer);
server.listen(0, "127.0.0.1", () => {
  const ready = process.env.RIGHTSEAT_READY_FILE;
  writeFileSync(`${ready}.new`, `http://127.0.0.1:${server.address().port}`);
  renameSync(`${ready}.new`, ready);
});
