// Drives Vercel's `ai` with the OpenAI-compatible provider. The cases and the lines are those of the Python
// programs: see ../library_program.py.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [BASE_URL] = process.argv.slice(2);
const about = new URL("./node_modules/ai/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const provider = createOpenAICompatible({
  name: "rightseat",
  baseURL: BASE_URL,
  apiKey: "any",
  supportsStructuredOutputs: true,
  includeUsage: true,
});
const WEATHER_QUESTION = "What is the weather in Oslo?";
const CUT_QUESTION = "What is the weather in Oslo and in Glasgow?";
const GREETING = "Say hello.";
const PERSON_QUESTION = "Ada is 36 years old. Who is she?";
const MAX_STEPS = 3;
let runs = [];
let pieces = [];

const printAnswer = (answer) => console.log(JSON.stringify(answer));
const person = z.object({ name: z.string(), age: z.number().int() });
const getWeather = tool({
  description: "Get the weather in a city.",
  inputSchema: z.object({ city: z.string().describe("Name of the city.") }),
  strict: true,
  execute: async ({ city }) => {
    runs.push({ city });
    return `21 degrees in ${city}`;
  },
});
const withTool = { tools: { get_weather: getWeather }, stopWhen: stepCountIs(MAX_STEPS) };

const settings = (name, prompt) => ({
  model: provider(name),
  prompt,
  maxRetries: 0,
  providerOptions: { rightseat: { user: "ada", reasoningEffort: "low" } },
});

const useTool = (question) => async (name) => ({
  text: (await generateText({ ...settings(name, question), ...withTool })).text,
});

const stream = (question, options) => async (name) => {
  const errors = [];
  const result = streamText({
    ...settings(name, question),
    ...options,
    onError: ({ error }) => errors.push(error),
  });
  for await (const piece of result.textStream) {
    if (!pieces.length) printAnswer({ first: piece });
    pieces.push(piece);
  }
  if (errors.length) throw errors[0];
  return { text: await result.text };
};

const makePerson = async (name) => {
  const output = Output.object({ schema: person });
  const result = await generateText({ ...settings(name, PERSON_QUESTION), output });
  return { people: [person.parse(result.output)] };
};

const CASES = {
  tool: useTool(WEATHER_QUESTION),
  tool_stream: stream(WEATHER_QUESTION, withTool),
  stream: stream(GREETING),
  structured: makePerson,
  cut: useTool(CUT_QUESTION),
  cut_stream: stream(CUT_QUESTION, withTool),
};

printAnswer({ version });
for await (const line of createInterface({ input: process.stdin })) {
  [runs, pieces] = [[], []];
  const [name, model] = line.split(" ");
  const answer = await CASES[name](model).catch((error) => ({ error: error.name, message: String(error.message) }));
  printAnswer({ ...answer, runs, pieces });
}
