// The line above the composer that says what is awaited, and for how long.

import { h, put } from "./dom.js";
import { askedName } from "./answering.js";
import { learn } from "./words.js";

learn("en", {
  awaited: {
    asking: "Asking",
    calling: "Calling",
    stepping: "Step",
    reconnecting: "Reconnecting",
    answering: "Answering",
  },
  escapeStops: "stops it",
});
learn("zh", {
  awaited: {
    asking: "正在询问",
    calling: "正在调用",
    stepping: "步骤",
    reconnecting: "正在重新连接",
    answering: "正在回答",
  },
  escapeStops: "停止",
});

const OFTEN = 100;

export class Waiting {
  constructor(app) {
    this.app = app;
    this.what = h("span", { role: "status", class: "cut" });
    this.seconds = h("span", { class: "dim num", "aria-hidden": "true" });
    const dots = h("span", { class: "pulse", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
    const stops = h(
      "span",
      { class: "dim tiny desk" },
      h("span", { class: "kbd" }, "Esc"),
      " ",
      app.words.escapeStops,
    );
    this.element = h(
      "div",
      { class: "wait", hidden: true },
      dots,
      this.what,
      this.seconds,
      h("span", { class: "grow" }),
      stops,
    );
    this.key = "";
  }

  draw() {
    const { running } = this.app.talk;
    this.element.hidden = !running;
    if (!running) return this.end();
    const [kind, name] = awaited(this.app);
    const key = `${this.app.session.thread} ${kind} ${name}`;
    if (key !== this.key) {
      this.key = key;
      this.began = performance.now();
      put(this.what, this.app.words.awaited[kind], name ? [" ", h("b", {}, name)] : null);
    }
    this.timer ??= setInterval(() => this.tick(), OFTEN);
    return this.tick();
  }

  tick() {
    const passed = (performance.now() - this.began) / 1000;
    this.seconds.textContent = passed < 1 ? "" : `${passed.toFixed(passed < 10 ? 1 : 0)} s`;
  }

  end() {
    clearInterval(this.timer);
    this.timer = null;
    this.key = "";
    this.seconds.textContent = "";
    put(this.what);
  }
}

/** What this run waits for: [word, name]. */
export function awaited(app) {
  const { talk, session } = app;
  if (session.cut) return ["reconnecting", ""];
  const { items } = talk;
  const call = items.findLast((item) => item.kind === "call" && item.open && item.result === undefined);
  if (call) return ["calling", call.name];
  if (talk.node) return ["stepping", talk.node];
  const writing = items.findLast((item) => item.kind === "message" && item.open && item.text);
  return writing ? ["answering", ""] : ["asking", askedName(app)];
}
