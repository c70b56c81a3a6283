// A conversation as it is shown, made of AG-UI events and nothing else: a reload that replays them gives the
// same one. No document is touched here.

import { take } from "./events.js";

export class Talk {
  constructor() {
    this.items = [];
    this.byId = new Map();
    this.changed = new Set();
    this.state = null;
    this.stateBefore = null;
    this.node = null;
    this.runs = [];
    this.suggestions = [];
    this.states = [];
    this.visits = [];
    this.steps = new Map();
    this.log = [];
    this.running = false;
  }

  /** What the next run is asked with: everything so far, as AG-UI's messages. */
  messages() {
    const found = [];
    const parents = new Map();
    const spoken = (id, role, content) => {
      const message = { id, role, content };
      parents.set(id, message);
      found.push(message);
      return message;
    };
    for (const item of this.items) {
      if (item.kind === "message") spoken(item.id, item.role, item.content ?? item.text);
      if (item.kind !== "call" || !item.ended) continue;
      const parent = parents.get(item.parent) ?? spoken(item.parent, "assistant", "");
      const made = { name: item.name, arguments: item.args };
      (parent.toolCalls ??= []).push({ id: item.id, type: "function", function: made });
      if (item.result === undefined) continue;
      found.push({ id: `result-${item.id}`, role: "tool", toolCallId: item.id, content: item.result });
    }
    return found;
  }

  /** The questions that wait for an answer. */
  get questions() {
    return this.items.filter((item) => item.kind === "question" && !item.answer);
  }

  get run() {
    return this.runs[this.runs.length - 1];
  }

  say(message) {
    this.add({ ...message, kind: "message", text: textOf(message.content) });
  }

  take(event, { now = Date.now(), replayed = false } = {}) {
    this.log.push({ event, at: now });
    take(this, event, now, replayed);
  }

  add(item) {
    const known = this.byId.get(item.id);
    if (known && known.kind === item.kind) return this.touch(Object.assign(known, item));
    this.items.push(item);
    this.byId.set(item.id, item);
    return this.touch(item);
  }

  drop(item) {
    this.items = this.items.filter((one) => one !== item);
    this.byId.delete(item.id);
    this.changed.delete(item);
  }

  /** A question about a call is drawn by the call's card. */
  touch(item) {
    this.changed.add(item);
    const call = item.kind === "question" ? this.byId.get(item.toolCallId) : null;
    if (call) this.changed.add(call);
    return item;
  }
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}
