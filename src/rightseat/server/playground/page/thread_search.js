// The search in what was said: asked of the server when a person pauses, and kept for what was asked last.

import { h } from "./dom.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  searchPartly: "Only the newest conversations were searched.",
  searchingSaid: "Searching messages …",
});
learn("zh", { searchPartly: "只搜索了最近的会话。", searchingSaid: "正在搜索消息…" });

const PAUSE_MS = 250;
const NOTHING = { text: "", threads: [], complete: true };
/** One letter is in nearly every message; one Chinese character is a word. */
const isEnough = (text) => text.length > 1 || /[^\u0000-\u02ff]/.test(text);

export class MessageSearch {
  /** `onFound` is called when there is something new to draw. */
  constructor(onFound) {
    this.onFound = onFound;
    this.last = NOTHING;
  }

  /** Looks for the text, unless it is the one that was looked for last. */
  ask(text, { archived = false } = {}) {
    const asked = `${text} ${archived}`;
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.timer);
    this.busy = isEnough(text);
    if (this.busy) this.timer = setTimeout(() => this.find(text, archived, asked), PAUSE_MS);
    else this.last = NOTHING;
  }

  /** Something has changed: what is looked for is asked again. */
  forget() {
    this.asked = undefined;
    this.last = NOTHING;
  }

  async find(text, archived, asked) {
    // A server that cannot search leaves the titles.
    const found = await server.post("/playground/search", { text, archived }).catch(() => NOTHING);
    if (asked !== this.asked) return;
    this.busy = false;
    this.last = { ...found, text };
    this.onFound();
  }

  /** The conversations with the text in their messages, by id. */
  hits(text) {
    return new Map(this.last.text === text && text ? this.last.threads.map((one) => [one.id, one]) : []);
  }

  /** What is said below the list. */
  note(words) {
    if (this.busy) return h("p", { class: "dim tiny pad", role: "status" }, words.searchingSaid);
    return this.last.complete ? null : h("p", { class: "dim tiny pad" }, words.searchPartly);
  }
}

/** A text with what was looked for marked in it. */
export function marked(text, asked) {
  const at = asked ? text.toLowerCase().indexOf(asked.toLowerCase()) : -1;
  if (at < 0) return text;
  const end = at + asked.length;
  return [text.slice(0, at), h("mark", {}, text.slice(at, end)), text.slice(end)];
}
