// What this page asks of its server: AG-UI runs on kept threads, and a few lists. The key, where one is
// needed, is kept for as long as the tab lives and goes into a header, never into an address.

import { newId } from "./ids.js";

const KEY = "rightseat.key";
// Beside index.html: the server may be mounted below a prefix.
export const BASE = new URL(".", document.baseURI).pathname.replace(/\/$/, "");

export class Refused extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The server does not know the place where we were: it has been started anew, and its log is what counts. */
export class Lost extends Error {}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

/** A line to copy, with the key in the place of its name. */
export const keyed = (line) => line.replaceAll("$RIGHTSEAT_KEY", key.get() || "$RIGHTSEAT_KEY");

async function ask(path, { method = "GET", body, form, headers = {}, signal, keepalive } = {}) {
  const sent = { ...headers };
  if (key.get()) sent.authorization = `Bearer ${key.get()}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  const response = await fetch(BASE + path, {
    method,
    headers: sent,
    body: body === undefined ? form : JSON.stringify(body),
    signal,
    keepalive,
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const text = await response.text();
  let told = {};
  try {
    told = JSON.parse(text);
  } catch {
    // A proxy's page, or nothing: the status must do.
  }
  const inner = typeof told.error === "object" && told.error ? told.error : told;
  return new Refused(response.status, inner.message ?? `HTTP ${response.status}`, inner.code ?? "");
}

/** A request as a front end sends it: whatever comes is the answer, an error too. */
export function resend({ path, accept, body }, signal) {
  const headers = { accept, "content-type": "application/json" };
  if (key.get()) headers.authorization = `Bearer ${key.get()}`;
  return fetch(BASE + path, { method: "POST", headers, body, signal });
}

export const get = async (path) => (await ask(path)).json();
export const post = async (path, body) => (await ask(path, { method: "POST", body })).json();

/** What comes, one JSON value a line. */
export async function* lines(path, body, signal) {
  const response = await ask(path, { method: "POST", body, signal });
  for await (const line of parts(response, "\n")) yield JSON.parse(line);
}

/** The events of a stream, as {id, event}. */
async function* events(response) {
  for await (const frame of parts(response, "\n\n")) {
    const found = read(frame);
    if (found) yield found;
  }
}

/** The text of a response, cut at each `end`. */
async function* parts(response, end) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const found = (rest + value).split(end);
      rest = found.pop();
      yield* found;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function read(frame) {
  let id = "";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  return data ? { id, event: JSON.parse(data) } : null;
}

const AGENT = (agent) => `/copilotkit/agent/${encodeURIComponent(agent)}`;
const ENDS = new Set(["RUN_FINISHED", "RUN_ERROR"]);
const PAUSES = [300, 1000, 2000, 4000, 8000, 8000];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A run's events. When the connection is cut they go on where they were; `onCut` hears of it. */
export async function* run(agent, input, { signal, onCut = () => {} } = {}) {
  const first = () => ask(`${AGENT(agent)}/run`, { method: "POST", body: input, signal });
  yield* followed(first, agent, input, { signal, onCut });
}

/** A kept thread from its beginning, and its run if one is under way. */
export async function* connect(agent, thread, { signal, onCut = () => {} } = {}) {
  const input = {
    threadId: thread,
    protocolVersion: "1.0",
    runId: newId(),
    messages: [],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  };
  const first = () => ask(`${AGENT(agent)}/connect`, { method: "POST", body: input, signal });
  yield* followed(first, agent, input, { signal, onCut, whole: true });
}

async function* followed(first, agent, input, { signal, onCut, whole = false }) {
  let last = "";
  let open = false;
  let tries = 0;
  let ours = true;
  let begin = first;
  for (;;) {
    let silent = true;
    try {
      const response = await begin();
      if (tries) onCut(false);
      for await (const { id, event } of events(response)) {
        tries = 0;
        silent = false;
        ours ||= event.type === "RUN_STARTED" && event.runId === input.runId;
        if (!ours) continue;
        if (event.type === "RUN_STARTED") open = true;
        if (ENDS.has(event.type)) open = false;
        last = id || last;
        yield event;
      }
      if (!ours) throw new Refused(0, "", "cut");
      // A thread that is only read has ended when its last run has.
      if (!open && (last || whole)) return;
      if (silent && last) throw new Lost();
    } catch (error) {
      if (signal?.aborted || error instanceof Refused || error instanceof Lost) throw error;
      if (!last && tries >= 2) throw error;
    }
    if (tries >= PAUSES.length) throw new Refused(0, "", "cut");
    onCut(true);
    await wait(PAUSES[tries++]);
    // Cut before the first word: whatever the thread has besides is known, and this run may never have begun.
    ours = whole || last !== "";
    begin = () =>
      ask(`${AGENT(agent)}/connect`, {
        method: "POST",
        body: { ...input, messages: [] },
        signal,
        headers: last ? { "last-event-id": last } : {},
      });
  }
}

export const stop = (agent, thread) => post(`${AGENT(agent)}/stop/${encodeURIComponent(thread)}`, {});
const THREADS = "/copilotkit/threads";
const PAGE = 100;

/** A page of the kept threads, the newest first; `more` is where the next page begins, or null. */
export async function threads({ from = "0", archived = false } = {}) {
  const asked = `?limit=${PAGE}&cursor=${from}&includeArchived=${archived}`;
  const { threads: found, nextCursor } = await get(THREADS + asked);
  return { threads: found, more: nextCursor };
}
const THREAD = (id) => `${THREADS}/${encodeURIComponent(id)}`;
export const rename = (id, name) => ask(THREAD(id), { method: "PATCH", body: { name } });
export const archive = (id, archived) => ask(THREAD(id), { method: "PATCH", body: { archived } });
/** Also when the page goes away in this moment. */
export const remove = (id) => ask(THREAD(id), { method: "DELETE", keepalive: true });

/** What was said in a recording. */
export async function transcribe(recording, name) {
  const form = new FormData();
  form.append("file", recording, name);
  return (await (await ask("/v1/audio/transcriptions", { method: "POST", form })).json()).text;
}
