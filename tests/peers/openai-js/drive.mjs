// Drives the official npm client: `drive.mjs URL`, then one `CASE MODE` per line of stdin.
// The cases are those of ../openai-py/drive.py, and what is printed has the same shape; besides, the client's
// own tool runner (`runTools`) is driven, in both modes.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import OpenAI from "openai";
import { cases } from "./options.mjs";

const [url, alone, table, hurried] = process.argv.slice(2);
const about = new URL("./node_modules/openai/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const now = () => lines.next();

const tool = (name, field) => ({
  type: "function",
  function: {
    name,
    strict: true,
    parameters: {
      type: "object",
      properties: { [field]: { type: "string" } },
      required: [field],
      additionalProperties: false,
    },
  },
});
const TOOLS = [tool("locate", "detail"), tool("clock", "zone")];

const seen = (completion) => {
  const { message, finish_reason } = completion.choices[0];
  const usage = completion.usage;
  return {
    role: message.role,
    content: message.content,
    choices: completion.choices.map((choice) => choice.message.content),
    logprobs: completion.choices[0].logprobs ?? null,
    refusal: message.refusal,
    reasoning: message.reasoning_content ?? null,
    calls: (message.tool_calls ?? []).map((call) => ({
      name: call.function.name,
      arguments: call.function.arguments,
      type: call.type,
    })),
    finish: finish_reason,
    model: completion.model,
    usage: usage ? [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens] : null,
  };
};

const fault = (error, heard = "") => ({
  class: error.constructor.name,
  message: error.message,
  status: error.status ?? null,
  code: error.code ?? null,
  type: error.type ?? null,
  param: error.param ?? null,
  retry_after: error.headers?.get("retry-after") ?? null,
  request: Boolean(error.requestID),
  heard,
});

class Talk {
  constructor(name, mode) {
    this.client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "ada-key", maxRetries: 0 });
    this.label = `${name} ${mode}`;
    this.mode = mode;
    this.model = "default";
    this.messages = [];
    this.turns = [];
    this.options = {};
    Object.assign(this, { alone, hurried, fault, tools: TOOLS });
  }

  // A call that should fail.
  async attempt(call) {
    try {
      await call();
    } catch (error) {
      this.turns.push({ ...fault(error), done: [] });
    }
  }

  say(text) {
    this.messages.push({ role: "user", content: text });
    return this.ask();
  }

  // Results of the client's own calls of the last turn, by tool.
  give(results) {
    for (const call of this.messages.at(-1).tool_calls) {
      const content = results[call.function.name];
      if (content !== undefined) this.messages.push({ role: "tool", tool_call_id: call.id, content });
    }
    return this.ask();
  }

  // The last request once more, as a client does that did not see the answer.
  again() {
    this.messages.pop();
    return this.ask();
  }

  async ask() {
    const heard = { text: "", calls: [] };
    try {
      const completion = this.mode === "stream" ? await this.stream(heard) : await this.whole();
      const { parsed, reasoning_content, ...message } = completion.choices[0].message;
      this.messages.push(message);
      this.turns.push({ ...seen(completion), done: heard.calls });
    } catch (error) {
      if (!(error instanceof OpenAI.OpenAIError)) throw error;
      this.turns.push({ ...fault(error, heard.text), done: heard.calls });
    }
  }

  whole() {
    return this.client.chat.completions.create({ model: this.model, messages: this.messages, ...this.options });
  }

  stream(heard) {
    return this.client.chat.completions
      .stream({
        model: this.model,
        messages: this.messages,
        stream_options: { include_usage: true },
        ...this.options,
      })
      .on("content.delta", ({ delta }) => (heard.text += delta))
      .on("tool_calls.function.arguments.done", ({ name }) => heard.calls.push(name))
      .finalChatCompletion();
  }
}

const say =
  (texts, { tools = false, model = "default" } = {}) =>
  async (talk) => {
    talk.model = model;
    talk.options = tools ? { tools: TOOLS } : {};
    for (const text of texts) await talk.say(text.replace("{0}", talk.label));
  };

const then =
  (first, ...moves) =>
  async (talk) => {
    await first(talk);
    for (const move of moves) await move(talk);
  };
const give = (results) => (talk) => talk.give(results);
const again = (talk) => talk.again();

async function roles(talk) {
  const call = { id: "mine", type: "function", function: { name: "locate", arguments: "{}" } };
  talk.model = "mirror";
  talk.messages = [
    { role: "system", content: "one" },
    { role: "developer", content: "two" },
    { role: "user", content: [{ type: "text", text: "three" }] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "mine", content: "Oslo" },
    { role: "assistant", content: "four" },
  ];
  await talk.say("five");
}

async function settings(talk) {
  talk.options = { temperature: 0, seed: 0, parallel_tool_calls: false, tools: TOOLS };
  talk.model = "mirror";
  await talk.say("settings");
}

// The client's own runner: it calls the functions and posts again by itself.
const runner = (text) => async (talk) => {
  const ran = [];
  const runnable = TOOLS.map((given) => ({
    type: "function",
    function: {
      ...given.function,
      // Strict tools would make the client itself refuse an answer that was cut.
      strict: undefined,
      // Without `parse` the runner hands over the arguments as they came, half or whole.
      function: (args) => {
        ran.push([given.function.name, args]);
        return given.function.name === "locate" ? "Oslo" : "noon";
      },
    },
  }));
  const run = talk.client.chat.completions.runTools({
    model: "default",
    messages: [{ role: "user", content: text }],
    tools: runnable,
    stream: talk.mode === "stream",
  });
  let heard = "";
  if (talk.mode === "stream") run.on("content", (delta) => (heard += delta));
  try {
    const content = await run.finalContent();
    talk.turns = [{ content, ran }];
  } catch (error) {
    talk.turns = [{ ...fault(error, heard), ran }];
  }
};

async function chunks(talk) {
  const stream = await talk.client.chat.completions.create({
    model: "default",
    messages: [{ role: "user", content: "where" }],
    tools: TOOLS,
    stream: true,
  });
  for await (const chunk of stream) talk.turns.push(chunk.choices[0]);
}

async function leave(talk) {
  const stream = await talk.client.chat.completions.create({
    model: "endless",
    messages: [{ role: "user", content: "go" }],
    stream: true,
  });
  for await (const chunk of stream) {
    const first = chunk.choices[0].delta.content;
    if (!first) continue;
    talk.turns.push({ first });
    await now();
    stream.controller.abort();
    break;
  }
}

async function leaveWaiting(talk) {
  const controller = new AbortController();
  const question = { model: "endless", messages: [{ role: "user", content: "wait" }] };
  const answer = talk.client.chat.completions
    .create({ ...question, stream: talk.mode === "stream" }, { signal: controller.signal })
    .catch((error) => error);
  await now();
  controller.abort();
  talk.turns.push({ ended: (await answer).constructor.name });
}

// The same answer from two windows at once.
async function raced(talk) {
  await say(["book {0}"])(talk);
  const other = new Talk("raced", talk.mode);
  other.messages = [...talk.messages];
  await Promise.all([talk.say("yes"), other.say("yes")]);
  talk.turns.push(...other.turns);
}

// Someone with another key posts the same history and the answer; then the one who was asked does.
async function stranger(talk) {
  await say(["book {0}"])(talk);
  const other = new Talk("stranger", talk.mode);
  other.client = other.client.withOptions({ apiKey: "bob-key" });
  other.messages = [...talk.messages];
  await other.say("yes");
  talk.turns.push(...other.turns);
  await talk.say("yes");
}

// A client that names its thread may post less of it: the question and the answer, or only the answer.
async function threaded(talk) {
  talk.client = talk.client.withOptions({ defaultHeaders: { "X-Thread-Id": talk.label.replace(" ", "-") } });
  for (const kept of [1, 0]) {
    await talk.say("question");
    talk.messages = kept ? talk.messages.slice(-1) : [];
    await talk.say("Ada");
  }
}

const CASES = {
  text: say(["hello"]),
  paced: say(["slowly"]),
  server_tool: say(["sum"]),
  client_tool: then(say(["where am i"], { tools: true }), give({ locate: "Oslo" })),
  client_tool_twice: then(say(["where am i"], { tools: true }), give({ locate: "Oslo" }), again),
  mixed: then(say(["mixed"], { tools: true, model: "mirror" }), give({ locate: "Oslo" })),
  two_client_calls: then(say(["pair"], { tools: true }), give({ locate: "Oslo", clock: "noon" })),
  half_of_two: then(say(["pair"], { tools: true }), give({ locate: "Oslo" })),
  both: then(say(["both {0}"], { tools: true }), give({ locate: "Oslo" }), (talk) => talk.say("yes")),
  question: say(["question", "Ada", "hello"]),
  approved: say(["book {0}", "Yes."]),
  denied: say(["book {0}", "no"]),
  evaded: say(["book {0}", "hello", "yes"]),
  approved_twice: then(say(["book {0}", "yes"]), again),
  raced,
  stranger,
  threaded,
  flow: say(["trip {0}", "Oslo"]),
  asked_twice: then(say(["trip {0}", "Oslo"]), again),
  twins: say(["twins {0}", "Oslo", "Rome"]),
  wrong_type: say(["wrong type"]),
  wrong_json: say(["wrong json"]),
  wrong_client: say(["wrong client"], { tools: true }),
  unknown_tool: say(["unknown"]),
  raising_tool: say(["stumble"]),
  refusal: say(["refuse"]),
  reasoning: say(["think"]),
  silent: say(["silent"]),
  length: say(["long"]),
  cut_held: say(["cut held"], { tools: true }),
  cut_shown: say(["cut shown"], { tools: true }),
  second_held: say(["second held"], { tools: true }),
  second_shown: say(["second shown"], { tools: true }),
  dead_at_once: say(["fault-reset-at-once"], { model: "faulty" }),
  dead_midway: say(["fault-reset"], { model: "faulty" }),
  error_midway: say(["fault-error-midway"], { model: "faulty" }),
  truncated: say(["fault-eof"], { model: "faulty" }),
  upstream_401: say(["fault-401"], { model: "faulty" }),
  upstream_429: say(["fault-429"], { model: "faulty" }),
  roles,
  settings,
  wrong_key: (talk) => {
    talk.client = talk.client.withOptions({ apiKey: "wrong" });
    return talk.say("hello");
  },
  no_such_model: say(["hello"], { model: "nobody" }),
  bad_request: (talk) => {
    talk.options = { temperature: 9 };
    return talk.say("hello");
  },
  no_such_route: (talk) => talk.attempt(() => talk.client.moderations.create({ input: "hello" })),
  retried: (talk) => {
    talk.client = talk.client.withOptions({ maxRetries: 1 });
    return say(["limp {0}"], { model: "limping" })(talk);
  },
  effect_once: (talk) => {
    talk.client = talk.client.withOptions({ maxRetries: 2 });
    return say(["limp with {0}"], { model: "limping" })(talk);
  },
  runner: runner("where"),
  runner_two: runner("pair"),
  runner_cut_held: runner("cut held"),
  runner_cut_shown: runner("cut shown"),
  runner_second_held: runner("second held"),
  runner_second_shown: runner("second shown"),
  chunks,
  leave,
  leave_waiting: leaveWaiting,
  ...cases(table),
};

console.log(JSON.stringify({ version }));
for (let line; !(line = await lines.next()).done; ) {
  const [name, mode] = line.value.split(" ");
  const talk = new Talk(name, mode);
  await CASES[name](talk);
  console.log(JSON.stringify({ turns: talk.turns }));
}
