// Drives CopilotKit's own client 1.10.6: `drive.mjs URL`, then one `CASE MODE` per line of stdin (MODE is ignored).
// The first line out names the client's version; then each case answers with one JSON line: per turn what the
// person would see. What the React hook does around the client (which calls it runs, when it posts again) is
// done here by the same rules.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// By `require`: as a module for Node the client cannot find its JSON reader, and every argument is lost.
const {
  ActionExecutionMessage,
  convertGqlOutputToMessages,
  convertMessagesToGqlInput,
  CopilotRuntimeClient,
  filterAdjacentAgentStateMessages,
  filterAgentStateMessages,
  ImageMessage,
  loadMessagesFromJsonRepresentation,
  ResultMessage,
  TextMessage,
} = createRequire(import.meta.url)("@copilotkit/runtime-client-gql");

const url = process.argv[2];
const about = new URL("./node_modules/@copilotkit/runtime-client-gql/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const now = () => lines.next();
console.warn = () => {};
console.error = () => {};

const action = (name, field, available = "enabled") => ({
  name,
  available,
  description: `The page's ${name}.`,
  jsonSchema: JSON.stringify({
    type: "object",
    properties: { [field]: { type: "string" } },
    required: [field],
  }),
});
const ACTIONS = [action("locate", "detail"), action("clock", "zone")];
let count = 0;

class Talk {
  constructor(name) {
    this.name = name;
    this.thread = `thread-${++count}`;
    this.messages = [];
    this.actions = [];
    this.handlers = {};
    this.more = {};
    this.events = [];
    this.turns = [];
    this.use({ publicApiKey: "ada-key" });
  }

  use(options) {
    this.told = { errors: [], warnings: [] };
    this.client = new CopilotRuntimeClient({
      url: `${url}/copilotkit`,
      handleGQLErrors: (error) =>
        this.told.errors.push({
          message: error.message,
          codes: (error.graphQLErrors ?? []).map((one) => one.extensions?.code ?? null),
        }),
      handleGQLWarning: (warning) => this.told.warnings.push(warning),
      ...options,
    });
    return this;
  }

  async say(content, signal, watch) {
    this.messages.push(new TextMessage({ role: "user", content: content.replace("{0}", this.name) }));
    return this.run(signal, watch);
  }

  // Until nothing is left to post, as the hook does; each trip is one mutation.
  async run(signal, watch) {
    const turn = { trips: 0, frames: 0, status: null, threw: null, meta: [] };
    let again = true;
    while (again && turn.trips < 5) {
      turn.trips++;
      again = await this.trip(turn, signal, watch);
    }
    this.events = [];
    turn.messages = this.messages.map(shown);
    turn.errors = this.told.errors.splice(0);
    turn.warnings = this.told.warnings.splice(0);
    this.turns.push(turn);
  }

  async trip(turn, signal, watch) {
    const data = {
      frontend: { actions: this.actions, url: "http://localhost:3000/" },
      threadId: this.thread,
      runId: null,
      extensions: {},
      metaEvents: this.events,
      messages: convertMessagesToGqlInput(filterAgentStateMessages(this.messages)),
      metadata: { requestType: "Chat" },
      agentStates: [],
      forwardedParameters: {},
      context: [],
      ...this.more,
    };
    this.events = [];
    let value = null;
    try {
      const source = this.client.generateCopilotResponse({ data, properties: {}, signal });
      const stream = this.client.asStream(source);
      // A structured error does not close the stream: nothing more comes then.
      const reader = stream.getReader();
      for (;;) {
        const next = await Promise.race([reader.read(), this.refused()]);
        if (next === null || next.done) break;
        value = next.value;
        turn.frames++;
        watch?.(value);
      }
    } catch (error) {
      turn.threw = error.message;
    }
    clearInterval(this.timer);
    return this.took(value?.generateCopilotResponse, turn);
  }

  refused() {
    clearInterval(this.timer);
    return new Promise((resolve) => {
      this.timer = setInterval(() => this.told.errors.length && resolve(null), 20);
    });
  }

  took(response, turn) {
    if (!response) return false;
    turn.status = response.status ?? null;
    turn.meta = response.metaEvents ?? [];
    const fresh = convertGqlOutputToMessages(filterAdjacentAgentStateMessages(response.messages));
    this.messages.push(...fresh);
    if (turn.status?.code === "Failed") return false;
    let ran = false;
    const last = [];
    for (const message of [...this.messages].reverse()) {
      const counts = message.isActionExecutionMessage() || message.isResultMessage();
      if (counts && message.status.code !== "Pending") last.unshift(message);
      else if (!message.isAgentStateMessage()) break;
    }
    for (const message of last) {
      if (!message.isActionExecutionMessage() || !(message.name in this.handlers)) continue;
      const place = this.messages.indexOf(message);
      this.messages.splice(place + 1, 0, this.ran(message));
      ran = true;
    }
    return ran || this.messages.at(-1).isResultMessage();
  }

  ran(message) {
    const result = this.handlers[message.name](message.arguments);
    return new ResultMessage({
      id: `result-${message.id}`,
      result: ResultMessage.encodeResult(result),
      actionExecutionId: message.id,
      actionName: message.name,
    });
  }

  answer(response) {
    const asked = this.turns.at(-1).meta[0];
    // The hook parses the value for the page and writes it again.
    const value = JSON.stringify(JSON.parse(asked.value));
    this.events = [{ name: asked.name, value, response }];
    return this.run();
  }
}

const shown = (message) => {
  const status = message.status?.code ?? null;
  if (message.isTextMessage()) return [message.role, message.content];
  if (message.isActionExecutionMessage()) return ["call", message.name, message.arguments, status];
  if (message.isResultMessage()) return ["result", message.actionName, message.result];
  if (message.isAgentStateMessage()) return ["state", message.nodeName, message.running, message.state];
  return ["image", message.format];
};

const say =
  (text, { model, handlers } = {}) =>
  (talk) => {
    talk.more = model ? { forwardedParameters: { model } } : {};
    talk.actions = handlers ? ACTIONS : [];
    talk.handlers = handlers ?? {};
    return talk.say(text);
  };
const then =
  (...moves) =>
  async (talk) => {
    for (const move of moves) await move(talk);
  };
const answer = (response) => (talk) => talk.answer(response);
const OSLO = { locate: () => "Oslo", clock: () => "noon" };

const leave = (text, seen) => async (talk) => {
  const abort = new AbortController();
  let first;
  const begun = new Promise((resolve) => (first = resolve));
  talk.more = { forwardedParameters: { model: "endless" } };
  const run = talk.say(text, abort.signal, (value) => seen(value.generateCopilotResponse) && first());
  await begun;
  await now();
  abort.abort();
  await run;
};

// What is seen of an answer before its end may come.
async function held(talk) {
  const said = [];
  talk.more = { forwardedParameters: { model: "mirror" } };
  await talk.say("hold", undefined, ({ generateCopilotResponse: { messages } }) => {
    const words = messages.flatMap((message) => message.content ?? []).join("");
    if (words && !said.length) say("release", { model: "mirror" })(new Talk("release"));
    if (words) said.push(words);
  });
  talk.turns.at(-1).said = said;
}

async function kinds(talk) {
  talk.more = { forwardedParameters: { model: "mirror", temperature: 0.5, maxTokens: 50, stop: ["x"] } };
  talk.messages = [
    new TextMessage({ role: "system", content: "one" }),
    new TextMessage({ role: "developer", content: "two" }),
    new TextMessage({ id: "p", role: "assistant", content: "three" }),
    new ActionExecutionMessage({ id: "mine", name: "locate", arguments: { x: 1 }, parentMessageId: "p" }),
    new ResultMessage({ id: "r", result: "Oslo", actionExecutionId: "mine", actionName: "locate" }),
    new ImageMessage({ role: "user", format: "png", bytes: "iVBORw0KGgo=" }),
  ];
  await talk.say("mirror");
}

async function agents(talk) {
  const { data } = await talk.client.availableAgents().toPromise();
  const found = await talk.client.loadAgentState({ threadId: "t", agentName: "default" }).toPromise();
  const missing = await talk.client.loadAgentState({ threadId: "t", agentName: "nobody" }).toPromise();
  const codes = missing.error.graphQLErrors.map((error) => error.extensions.code);
  talk.turns.push({ agents: data.availableAgents.agents, state: found.data.loadAgentState, missing: codes });
}

// Another window on the same thread, as the hook loads it.
async function reload(talk) {
  await say("sum")(talk);
  await say("where am i", { handlers: OSLO })(talk);
  const found = await talk.client.loadAgentState({ threadId: talk.thread, agentName: "default" }).toPromise();
  const { messages, ...state } = found.data.loadAgentState;
  talk.turns.push({ state, messages: loadMessagesFromJsonRepresentation(JSON.parse(messages)).map(shown) });
}

const CASES = {
  text: say("hello"),
  paced: say("slowly"),
  server_tool: say("sum"),
  object_result: say("object"),
  void_result: say("void"),
  failing_tool: say("stumble"),
  wrong_json: say("wrong json"),
  client_tool: say("where am i", { handlers: OSLO }),
  client_number: say("where am i", { handlers: { ...OSLO, locate: () => 42 } }),
  client_object: say("where am i", { handlers: { ...OSLO, locate: () => ({ city: "Oslo" }) } }),
  client_void: say("where am i", { handlers: { ...OSLO, locate: () => undefined } }),
  two_calls: say("pair", { handlers: OSLO }),
  both: then(say("both {0}", { handlers: OSLO }), answer('{"approved":true}')),
  render_only: say("where am i", { handlers: {} }),
  disabled: async (talk) => {
    talk.actions = [action("locate", "detail", "disabled"), action("clock", "zone", "remote")];
    await talk.say("where am i");
  },
  question: then(say("question"), answer("Ada"), say("hello")),
  approved: then(say("book {0}"), answer('{"approved":true}')),
  denied: then(say("book {0}"), answer("no")),
  flow: then(say("trip {0}"), answer("Oslo")),
  cut_shown: say("cut shown", { handlers: OSLO }),
  second_held: say("second held", { handlers: OSLO }),
  second_shown: say("second shown", { handlers: OSLO }),
  dead_midway: say("fault-reset", { model: "faulty" }),
  upstream_401: say("fault-401", { model: "faulty" }),
  upstream_500: say("fault-500", { model: "faulty" }),
  wrong_key: (talk) => talk.use({ publicApiKey: "wrong" }).say("hello"),
  bearer: (talk) => talk.use({ headers: { Authorization: "Bearer ada-key" } }).say("hello"),
  bad_schema: (talk) => {
    talk.actions = [{ ...ACTIONS[0], jsonSchema: "{" }];
    return talk.say("hello");
  },
  no_such_agent: (talk) => {
    talk.more = { agentSession: { agentName: "nobody" } };
    return talk.say("hello");
  },
  nasty: (talk) => {
    talk.more = { forwardedParameters: { model: "mirror" } };
    return talk.say('\r\n---\r\n\r\n"\u2028\\ --- {"hasNext":false}');
  },
  guarded: async (talk) => {
    const rules = { allowList: ["hello", "poker"], denyList: ["poker"] };
    talk.more = { cloud: { guardrails: { inputValidationRules: rules } } };
    await talk.say("a game of Poker?");
    await talk.say("hello");
  },
  held,
  kinds,
  agents,
  reload,
  leave: leave("go", (response) => response.messages.some((message) => message.content?.length)),
  leave_waiting: leave("wait", () => true),
};

console.log(JSON.stringify({ version }));
for (let line; !(line = await lines.next()).done; ) {
  const [name] = line.value.split(" ");
  const talk = new Talk(name);
  await CASES[name](talk);
  console.log(JSON.stringify({ turns: talk.turns }));
}
process.exit(0);
