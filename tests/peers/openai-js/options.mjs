// The cases of drive.mjs that are about one option, one error or one of the smaller endpoints each.
// They are those of ../openai-py/options.py.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const PARTS = [
  { type: "text", text: "What is this?" },
  { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } },
  { type: "image_url", image_url: { url: "https://pictures.example/cat.png" } },
  { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
  { type: "file", file: { file_id: "file-1" } },
];
const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};

// Asks a model that answers with the request as it arrived there.
const sent = (options) => (talk) => {
  const needs = "tool_choice" in options || "parallel_tool_calls" in options;
  talk.options = { ...options, ...(needs ? { tools: talk.tools } : {}) };
  talk.model = "plain";
  return talk.say("raw");
};

const say =
  (text, model = "default") =>
  (talk) => {
    talk.model = model;
    return talk.say(text);
  };

async function several(talk) {
  Object.assign(talk, { model: "plain", options: { n: 3 } });
  await talk.say("sure");
  Object.assign(talk, { model: "mirror", messages: [] });
  await talk.say("sure");
}

function probable(talk) {
  Object.assign(talk, { model: "plain", options: { logprobs: true } });
  return talk.say("sure");
}

// The chunks with a count of tokens, when it is asked for and when it is not.
async function counted(talk) {
  for (const options of [{ include_usage: true }, { include_usage: false }, null]) {
    const stream = await talk.client.chat.completions.create({
      model: "default",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      ...(options ? { stream_options: options } : {}),
    });
    const rows = [];
    let last = null;
    for await (const chunk of stream) {
      last = chunk;
      if (chunk.usage) rows.push([chunk.choices.length, chunk.usage.total_tokens]);
    }
    talk.turns.push({ rows, last: Boolean(last.usage) });
  }
}

const parsed = (text) => async (talk) => {
  const asked = {
    model: "default",
    messages: [{ role: "user", content: text }],
    response_format: { type: "json_schema", json_schema: { name: "Person", strict: true, schema: PERSON } },
  };
  const chat = talk.client.chat.completions;
  try {
    const made = talk.mode === "stream" ? await chat.stream(asked).finalChatCompletion() : await chat.parse(asked);
    const { parsed, refusal } = made.choices[0].message;
    talk.turns = [{ parsed, refusal: refusal ?? null }];
  } catch (error) {
    if (!(error instanceof OpenAI.OpenAIError)) throw error;
    talk.turns = [talk.fault(error)];
  }
};

async function completion(talk) {
  const ask = async (given) => {
    const chunks = [];
    try {
      const made = await talk.client.completions.create({ stream: talk.mode === "stream", ...given });
      if (talk.mode === "stream") for await (const chunk of made) chunks.push(chunk);
      else chunks.push(made);
    } catch (error) {
      talk.turns.push(talk.fault(error));
      return;
    }
    const texts = [];
    const ends = [];
    for (const choice of chunks.flatMap((chunk) => chunk.choices)) {
      texts[choice.index] = (texts[choice.index] ?? "") + choice.text;
      if (choice.finish_reason) ends.push(choice.finish_reason);
    }
    talk.turns.push({ texts, ends, kinds: [[chunks[0].object, chunks[0].model]] });
  };
  await ask({ model: "default", prompt: "hello" });
  await ask({ model: "plain", prompt: ["sure", "raw"], max_tokens: 5, stop: ["x"], seed: 3, temperature: 0 });
  await ask({ model: "default", prompt: "hello", echo: true });
}

async function models(talk) {
  for await (const { id, object } of talk.client.models.list()) talk.turns.push({ id, object });
  talk.turns.push({ id: (await talk.client.models.retrieve("mirror")).id });
  await talk.attempt(() => talk.client.models.retrieve("nobody"));
}

// The client asks for base64 by itself where nothing is said, and unpacks it.
async function embeddings(talk) {
  for (const form of [{}, { encoding_format: "float" }, { encoding_format: "base64" }]) {
    const made = await talk.client.embeddings.create({ model: "plain", input: ["a", "b"], ...form });
    const rows = made.data.map((row) => row.embedding);
    talk.turns.push({ rows, model: made.model, usage: made.usage.total_tokens });
  }
  await talk.attempt(() => talk.client.embeddings.create({ model: "default", input: "a" }));
}

function speech(talk) {
  const file = new File(["RIFF"], "a.wav");
  return talk.attempt(() => talk.client.audio.transcriptions.create({ file, model: "whisper-1" }));
}

async function each(talk, names) {
  for (const name of names) {
    Object.assign(talk, { model: name, messages: [] });
    await talk.say("hello");
  }
}

function anyName(talk) {
  talk.client = talk.client.withOptions({ baseURL: `${talk.alone}/v1` });
  return each(talk, ["gpt-3.5-turbo", "meta-llama/llama-3.3-70b-instruct:free", "default", ""]);
}

// The client names JSON after its user's own headers, so this is said below it.
function notJson(talk) {
  const plain = (url, init) => {
    const headers = new Headers(init.headers);
    headers.set("Origin", "http://localhost:3000");
    headers.set("Content-Type", "text/plain");
    return fetch(url, { ...init, headers });
  };
  talk.client = talk.client.withOptions({ fetch: plain });
  return talk.say("hello");
}

// Sends half of a request and then nothing more.
function dawdled(talk) {
  const halves = async function* (body) {
    yield body.subarray(0, body.length / 2);
    await new Promise(() => {});
  };
  const slow = (url, init) =>
    fetch(url, { ...init, body: ReadableStream.from(halves(Buffer.from(init.body))), duplex: "half" });
  talk.client = talk.client.withOptions({ baseURL: `${talk.hurried}/v1`, fetch: slow });
  return talk.say("hello");
}

export function cases(table) {
  const options = Object.entries(JSON.parse(readFileSync(table, "utf8")));
  return {
    ...Object.fromEntries(options.map(([name, given]) => [name, sent(given)])),
    parts: say(PARTS, "plain"),
    several,
    probable,
    counted,
    parsed: parsed("person"),
    parsed_refusal: parsed("refuse"),
    parsed_length: parsed("person cut"),
    parsed_unfit: parsed("hello"),
    completion,
    models,
    embeddings,
    speech,
    names: (talk) => each(talk, ["plain", "openai:vendor/plain-1", "vendor/plain-1", "default"]),
    any_name: anyName,
    large: say("x".repeat(3_000_000)),
    not_json: notJson,
    dawdled,
    broken: say("break"),
    overloaded: say("fault-503", "faulty"),
    timed_out: say("fault-silent", "slow"),
  };
}
