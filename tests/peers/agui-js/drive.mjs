// Drives the official AG-UI client: `drive.mjs URL`, then one `CASE MODE` per line of stdin. MODE `stream` is
// AG-UI's own door; `kept` and `single` are CopilotKit's, by routes and by its one endpoint. The first line out names the client's version; then each case answers with one JSON
// line: per run what a subscriber was told, what the promise gave, and the messages the user would see.
// Every run goes through the client's own pipeline: schema enforcement, chunk expansion and the verifier.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { buildResumeArray, HttpAgent } from "@ag-ui/client";

const url = process.argv[2];
const about = new URL("./node_modules/@ag-ui/client/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const now = () => lines.next();

// The client warns when a producer sends what the protocol does not know: nothing of ours may be among it.
let warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));
console.error = () => {};

const tool = (name, field) => ({
  name,
  description: `The client's ${name}.`,
  parameters: { type: "object", properties: { [field]: { type: "string" } }, required: [field] },
});
const TOOLS = [tool("locate", "detail"), tool("clock", "zone")];
let count = 0;
const message = (role, more) => ({ id: `m${++count}`, role, ...more });

// As CopilotKit's own client does it: `connect` replays a thread, and the single endpoint takes an envelope.
class Kept extends HttpAgent {
  constructor({ assistant, single, ...rest }) {
    super(rest);
    Object.assign(this, { assistant, single });
    this.url = this.place("run");
  }

  place(method) {
    return this.single ? `${url}/copilotkit` : `${url}/copilotkit/agent/${this.assistant}/${method}`;
  }

  envelope(method, input) {
    const init = super.requestInit(input);
    if (!this.single) return init;
    return { ...init, body: JSON.stringify({ method: `agent/${method}`, params: { agentId: this.assistant }, body: input }) };
  }

  requestInit(input) {
    return this.envelope("run", input);
  }

  connect(input) {
    const other = new HttpAgent({ url: this.place("connect"), headers: this.headers });
    other.requestInit = () => ({ ...this.envelope("connect", input) });
    return other.run(input);
  }

  async stop() {
    const params = { agentId: this.assistant, threadId: this.threadId };
    const place = this.single ? this.place() : `${this.place("stop")}/${this.threadId}`;
    const body = this.single ? { method: "agent/stop", params } : {};
    const headers = { ...this.headers, "content-type": "application/json" };
    return (await fetch(place, { method: "POST", headers, body: JSON.stringify(body) })).json();
  }
}

class Talk {
  constructor(name, mode = "stream") {
    this.name = name;
    this.mode = mode;
    this.use("default");
    this.tools = [];
    this.turns = [];
  }

  use(assistant, headers = { authorization: "Bearer ada-key" }) {
    const threadId = `thread-${++count}`;
    const single = this.mode === "single";
    this.agent =
      this.mode === "stream"
        ? new HttpAgent({ url: `${url}/agui/${assistant}`, threadId, headers })
        : new Kept({ url: "unset", assistant, single, threadId, headers });
    return this;
  }

  say(text, parameters) {
    this.agent.addMessage(message("user", { content: text.replace("{0}", this.name) }));
    return this.run(parameters);
  }

  // Results of the client's own calls, by tool.
  put(results) {
    const calls = this.agent.messages.flatMap((m) => m.toolCalls ?? []);
    for (const [name, content] of Object.entries(results)) {
      const { id } = calls.findLast((call) => call.function.name === name);
      this.agent.addMessage(message("tool", { toolCallId: id, content }));
    }
  }

  give(results) {
    this.put(results);
    return this.run();
  }

  answer(...replies) {
    const open = this.agent.pendingInterrupts;
    this.resume = buildResumeArray(open, Object.fromEntries(open.map(({ id }, n) => [id, replies[n] ?? replies[0]])));
    return this.run({ resume: this.resume });
  }

  async run(parameters = {}) {
    const told = { events: [], ready: [], error: null, failed: null, finished: null, custom: [], question: null };
    const subscriber = {
      onEvent: ({ event }) => void told.events.push(event.type),
      onToolCallEndEvent: ({ toolCallName, toolCallArgs }) => void told.ready.push([toolCallName, toolCallArgs]),
      onRunErrorEvent: ({ event }) => void (told.error = { message: event.message, code: event.code }),
      onRunFailed: ({ error }) => void (told.failed = { message: error.message, status: error.status ?? null }),
      onCustomEvent: ({ event }) => {
        told.custom.push(event.name);
        if (event.name === "on_interrupt") told.question = event.value;
      },
      onRunFinishedEvent: ({ event, outcome, result, pendingToolCallIds, interrupts }) =>
        void (told.finished = { outcome, result, pending: pendingToolCallIds, interrupts, usage: event.usage }),
    };
    warnings = [];
    let threw = null;
    let news = [];
    try {
      const { connects, ...given } = parameters;
      const run = connects ? "connectAgent" : "runAgent";
      news = (await this.agent[run]({ tools: this.tools, ...given }, subscriber)).newMessages;
    } catch (error) {
      threw = error.message;
    }
    this.turns.push({
      ...told,
      threw,
      warnings,
      new: news.map(shown),
      messages: this.agent.messages.map(shown),
      pending: this.agent.pendingInterrupts.length,
      state: this.agent.state,
    });
  }
}

const shown = ({ role, content, toolCalls }) => {
  const calls = toolCalls?.map((call) => [call.function.name, call.function.arguments]);
  return calls ? [role, content ?? null, calls] : [role, content ?? null];
};

const yes = { status: "resolved", payload: { approved: true } };
const no = { status: "resolved", payload: { approved: false } };
const value = (payload) => ({ status: "resolved", payload });
const cancelled = { status: "cancelled" };

const say =
  (text, { tools = false, model = "default" } = {}) =>
  (talk) => {
    if (model !== "default") talk.use(model);
    talk.tools = tools ? TOOLS : [];
    return talk.say(text);
  };
const then =
  (...moves) =>
  async (talk) => {
    for (const move of moves) await move(talk);
  };
const give = (results) => (talk) => talk.give(results);
const answer =
  (...replies) =>
  (talk) =>
    talk.answer(...replies);
// The same answer once more, as a client does that did not see what became of it.
const again = (talk) => talk.run({ resume: talk.resume });

async function both(talk) {
  await say("both {0}", { tools: true })(talk);
  talk.put({ locate: "Oslo" });
  await talk.answer(yes);
}

async function roles(talk) {
  const call = { id: "mine", type: "function", function: { name: "locate", arguments: "{}" } };
  talk.use("mirror");
  talk.agent.setMessages([
    message("system", { content: "one" }),
    message("developer", { content: "two" }),
    message("user", { content: [{ type: "text", text: "three" }] }),
    message("reasoning", { content: "never said" }),
    message("assistant", { toolCalls: [call] }),
    message("tool", { toolCallId: "mine", content: "Oslo" }),
    message("assistant", { content: "four" }),
  ]);
  await talk.say("five", { context: [{ description: "Page", value: "Cart" }] });
}

// A call that was cut stays in what the client keeps, and is posted again with the next message.
async function half_call(talk) {
  await say("cut shown", { tools: true })(talk);
  const kept = talk.agent.messages;
  talk.use("mirror").agent.setMessages(kept);
  await talk.say("go on");
}

// The same answer from two windows at once.
async function raced(talk) {
  await say("book {0}")(talk);
  const other = new Talk(talk.name);
  other.agent = talk.agent.clone();
  other.agent.pendingInterrupts = [...talk.agent.pendingInterrupts];
  await Promise.all([talk.answer(yes), other.answer(yes)]);
  talk.turns.push(...other.turns);
}

// Someone with another key sends the answer; then the one who was asked does.
async function stranger(talk) {
  await say("book {0}")(talk);
  const other = new Talk(talk.name);
  other.agent = talk.agent.clone();
  other.agent.headers = { authorization: "Bearer bob-key" };
  other.agent.pendingInterrupts = [...talk.agent.pendingInterrupts];
  await other.answer(yes);
  talk.turns.push(...other.turns);
  await talk.answer(yes);
}

// Abort once the client has seen an event of that kind and the other side says `now`.
const leave = (text, kind) => async (talk) => {
  let first;
  const begun = new Promise((resolve) => (first = resolve));
  talk.use("endless").agent.subscribe({ onEvent: ({ event }) => void (event.type === kind && first()) });
  const run = talk.say(text);
  await begun;
  await now();
  talk.agent.abortRun();
  await run;
};

// Another window on the same thread, which knows nothing but its id.
async function reload(talk) {
  await say("hello")(talk);
  await say("sum")(talk);
  const { threadId } = talk.agent;
  talk.use("default").agent.threadId = threadId;
  await talk.run({ connects: true });
  await say("hello")(talk);
  talk.use("default").agent.threadId = threadId;
  await talk.run({ connects: true });
}

// A thread that failed and went on: older clients take nothing after an error.
async function reload_failed(talk) {
  talk.use("faulty");
  await talk.say("fault-reset");
  const { threadId } = talk.agent;
  talk.use("default").agent.threadId = threadId;
  await say("hello")(talk);
  talk.use("default").agent.threadId = threadId;
  await talk.run({ connects: true });
}

// A reload while a question waits: it can still be answered.
async function reload_asked(talk) {
  await say("book {0}")(talk);
  const { threadId } = talk.agent;
  talk.use("default").agent.threadId = threadId;
  await talk.run({ connects: true });
  await talk.answer(yes);
}

// A client of before 1.0, such as CopilotKit's 1.50.1: it knows no outcome, is shown the CUSTOM event, and answers
// by a command that does not say what it answers.
async function older(talk) {
  await say("book {0}")(talk);
  talk.agent.pendingInterrupts = [];
  await talk.run({ forwardedProps: { command: { resume: { approved: true } } } });
}

// Of two questions it is shown one, and asked the other when that one is answered.
async function older_twins(talk) {
  await say("twins {0}")(talk);
  for (const resume of ["Oslo", "Rome"]) {
    talk.agent.pendingInterrupts = [];
    await talk.run({ forwardedProps: { command: { resume } } });
  }
}

// Stop once the client has heard something; another run on the busy thread is refused meanwhile.
async function stop(talk) {
  let first;
  const begun = new Promise((resolve) => (first = resolve));
  talk.use("endless").agent.subscribe({
    onEvent: ({ event }) => void (event.type === "TEXT_MESSAGE_CONTENT" && first()),
  });
  const run = talk.say("go");
  await begun;
  const other = new Talk(talk.name, talk.mode);
  other.use("endless").agent.threadId = talk.agent.threadId;
  await other.say("more");
  const told = await talk.agent.stop();
  await run;
  talk.turns.push(...other.turns, { told, again: await talk.agent.stop() });
}

const CASES = {
  reload,
  reload_failed,
  reload_asked,
  older,
  older_twins,
  stop,
  text: say("hello"),
  paced: say("slowly"),
  server_tool: say("sum"),
  client_tool: then(say("where am i", { tools: true }), give({ locate: "Oslo" })),
  mixed: then(say("mixed", { tools: true, model: "mirror" }), give({ locate: "Oslo" })),
  two_client_calls: then(say("pair", { tools: true }), give({ locate: "Oslo", clock: "noon" })),
  half_of_two: then(say("pair", { tools: true }), give({ locate: "Oslo" })),
  client_tool_twice: then(say("where", { tools: true }), give({ locate: "Oslo" }), (talk) => {
    talk.agent.setMessages(talk.agent.messages.slice(0, -1));
    return talk.run();
  }),
  both,
  question: then(say("question"), answer(value("Ada")), say("hello")),
  unfit: then(say("question"), answer(value(7)), answer(value("Ada"))),
  approved: then(say("book {0}"), answer(yes)),
  denied: then(say("book {0}"), answer(no)),
  cancelled: then(say("book {0}"), answer(cancelled)),
  approved_twice: then(say("book {0}"), answer(yes), again),
  unanswered: then(say("book {0}"), say("hello")),
  raced,
  stranger,
  flow: then(say("trip {0}"), answer(value("Oslo"))),
  asked_twice: then(say("trip {0}"), answer(value("Oslo")), again),
  twins: then(say("twins {0}"), answer(value("Oslo"), value("Rome"))),
  open_step: then(say("stroll"), answer(value("left"))),
  handed: say("guide me"),
  handed_badly: say("guide badly"),
  wrong_type: say("wrong type"),
  wrong_json: say("wrong json"),
  wrong_client: say("wrong client", { tools: true }),
  unknown_tool: say("unknown"),
  raising_tool: say("stumble"),
  refusal: say("refuse"),
  reasoning: then(say("think"), say("hello")),
  silent: say("silent"),
  length: say("long"),
  cut_held: say("cut held", { tools: true }),
  cut_shown: say("cut shown", { tools: true }),
  second_held: then(say("second held", { tools: true }), give({ locate: "Oslo" })),
  second_shown: say("second shown", { tools: true }),
  dead_at_once: say("fault-reset-at-once", { model: "faulty" }),
  dead_midway: say("fault-reset", { model: "faulty" }),
  error_midway: say("fault-error-midway", { model: "faulty" }),
  truncated: say("fault-eof", { model: "faulty" }),
  upstream_401: say("fault-401", { model: "faulty" }),
  upstream_429: say("fault-429", { model: "faulty" }),
  half_call,
  roles,
  wrong_key: (talk) => talk.use("default", { authorization: "Bearer wrong" }).say("hello"),
  no_key: (talk) => talk.use("default", {}).say("hello"),
  no_such_agent: say("hello", { model: "nobody" }),
  nothing: (talk) => talk.run(),
  leave: leave("go", "TEXT_MESSAGE_CONTENT"),
  leave_waiting: leave("wait", "RUN_STARTED"),
};

console.log(JSON.stringify({ version }));
for (let line; !(line = await lines.next()).done; ) {
  const [name, mode] = line.value.split(" ");
  const talk = new Talk(name, mode);
  await CASES[name](talk);
  console.log(JSON.stringify({ turns: talk.turns }));
}
