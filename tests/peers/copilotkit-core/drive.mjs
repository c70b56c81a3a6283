// Drives what stands below CopilotKit's React components, newest: `drive.mjs URL`, then one `CASE MODE` per line of
// stdin. MODE is the client's transport: `single`, `rest` or `auto`. The first line out names the client's version;
// then each case answers with one JSON line: what its application would be told.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

// It connects only where it takes itself to be in a page.
globalThis.window = globalThis;
globalThis.location = { href: "http://localhost/", origin: "http://localhost" };
console.error = () => {};
console.warn = () => {};
const core = await import("@copilotkit/core");

const url = process.argv[2];
const about = new URL("./node_modules/@copilotkit/core/package.json", import.meta.url);
const { version } = JSON.parse(readFileSync(about, "utf8"));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const headers = { authorization: "Bearer ada-key" };
let count = 0;

class Page {
  constructor(mode) {
    this.errors = [];
    this.core = new core.CopilotKitCore({ runtimeUrl: `${url}/copilotkit`, runtimeTransport: mode, headers });
    this.core.subscribe({ onError: ({ code, error }) => void this.errors.push([code, error.message]) });
  }

  async connected() {
    while (this.core.runtimeConnectionStatus === "connecting" || !this.core.getAgent("default")) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return this;
  }

  agent(threadId = `core-${++count}`, name = "default") {
    const agent = this.core.getAgent(name).clone();
    agent.threadId = threadId;
    return agent;
  }

  async say(agent, content, more = {}) {
    agent.addMessage({ id: `core-m${++count}`, role: "user", content });
    await this.core.runAgent({ agent, ...more });
  }

  // The kept threads, as the hook useThreads has them.
  async threads(settled) {
    const store = core.ɵcreateThreadStore({ fetch: this.core.ɵruntimeFetch });
    store.start();
    const context = { runtimeUrl: this.core.runtimeUrl, headers, agentId: "default", includeArchived: false };
    store.setContext(context);
    while (store.getState().isLoading || store.getState().threads.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const seen = await settled(store);
    store.stop();
    return seen;
  }
}

const shown = ({ role, content }) => [role, content ?? null];

async function talk(page) {
  const agent = page.agent();
  await page.say(agent, "sum");
  return { endpoints: page.core.threadEndpoints, messages: agent.messages.map(shown) };
}

async function thoughts(page) {
  const agent = page.agent();
  await page.say(agent, "think");
  return { messages: agent.messages.map(shown) };
}

async function question(page, mode) {
  const agent = page.agent();
  const custom = [];
  agent.subscribe({ onCustomEvent: ({ event }) => void custom.push(event.name) });
  await page.say(agent, `book core ${mode}`);
  const [asked] = agent.pendingInterrupts;
  const resume = [{ interruptId: asked.id, status: "resolved", payload: { approved: true } }];
  await page.core.runAgent({ agent, resume });
  return { asked: asked.message, custom, messages: agent.messages.map(shown) };
}

async function threads(page) {
  const first = page.agent();
  const second = page.agent();
  await page.say(first, "hello");
  await page.say(second, "hello");
  return page.threads(async (store) => {
    const names = () => store.getState().threads.filter(({ id }) => [first, second].some((a) => a.threadId === id));
    const told = { listed: names().length };
    await store.renameThread(first.threadId, "renamed");
    told.renamed = names().find(({ id }) => id === first.threadId)?.name;
    await store.archiveThread(first.threadId);
    await store.deleteThread(second.threadId);
    told.left = names().length;
    told.error = store.getState().error;
    return told;
  });
}

async function busy(page) {
  const agent = page.agent(undefined, "mirror");
  const other = page.agent(agent.threadId, "mirror");
  let first;
  const begun = new Promise((resolve) => (first = resolve));
  agent.subscribe({ onTextMessageContentEvent: () => void first() });
  const run = page.say(agent, "hold");
  await begun;
  await page.say(other, "hello").catch(() => {});
  await page.say(page.agent(undefined, "mirror"), "release");
  await run;
  return { messages: agent.messages.map(shown) };
}

// A second page on the same thread.
async function reload(page) {
  const agent = page.agent();
  await page.say(agent, "sum");
  const other = page.agent(agent.threadId);
  await page.core.connectAgent({ agent: other });
  return { messages: other.messages.map(shown) };
}

// The second of two calls of the page's own tools is cut by the token limit.
const cut = (text) => async (page) => {
  const ran = [];
  for (const name of ["locate", "clock"]) {
    const handler = async (args) => {
      ran.push([name, args]);
      return "Oslo";
    };
    page.core.addTool({ name, description: name, handler });
  }
  const agent = page.agent();
  await page.say(agent, text).catch(() => {});
  return { ran, messages: agent.messages.map(shown) };
};

const CASES = {
  ...{ talk, thoughts, question, threads, busy, reload },
  second_held: cut("second held"),
  second_shown: cut("second shown"),
};

console.log(JSON.stringify({ version }));
for (let line; !(line = await lines.next()).done; ) {
  const [name, mode] = line.value.split(" ");
  const page = await new Page(mode).connected();
  const told = await CASES[name](page, mode);
  console.log(JSON.stringify({ ...told, errors: page.errors }));
}
process.exit(0);
