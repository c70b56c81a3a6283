// Drives OpenAI's library for Node by its streams. The cases and the lines are those of the Python programs: see
// ../library_program.py.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import OpenAI from "openai";

const [BASE_URL] = process.argv.slice(2);
const about = new URL("./node_modules/openai/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const client = new OpenAI({ baseURL: BASE_URL, apiKey: "any", maxRetries: 0 });
const GREETING = "Say hello.";
const messages = [{ role: "user", content: GREETING }];
let pieces = [];

const printAnswer = (answer) => console.log(JSON.stringify(answer));
const addPiece = (piece) => {
  if (!piece) return;
  if (!pieces.length) printAnswer({ first: piece });
  pieces.push(piece);
};

const CASES = {
  stream: async (model) => {
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) addPiece(chunk.choices[0]?.delta.content);
    return { text: pieces.join("") };
  },
  accumulated: async (model) => {
    const stream = client.chat.completions.stream({ model, messages });
    stream.on("content", addPiece);
    return { text: await stream.finalContent() };
  },
  completion: async (model) => {
    const stream = await client.completions.create({ model, prompt: GREETING, stream: true });
    for await (const chunk of stream) addPiece(chunk.choices[0]?.text);
    return { text: pieces.join("") };
  },
};

printAnswer({ version });
for await (const line of createInterface({ input: process.stdin })) {
  pieces = [];
  const [name, model] = line.split(" ");
  const answer = await CASES[name](model).catch((error) => ({ error: error.name, message: String(error.message) }));
  printAnswer({ ...answer, runs: [], pieces });
}
