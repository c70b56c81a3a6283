// What stands in a conversation besides words and calls: thoughts, runs inside, and what went wrong.

import { h, put } from "./dom.js";
import { errorOf } from "./calls.js";
import { Folding, inWords, seconds, sign } from "./folding.js";
import { icon } from "./icons.js";
import { Prose } from "./markdown.js";
import { BASE } from "./server.js";
import { learn } from "./words.js";

export { CallCard } from "./calls.js";
export { CitationsCard } from "./sources.js";

learn("en", {
  thinking: "Thinking",
  thoughtFor: "Thought for",
  thought: "Thought",
  handedTo: "Handed to",
  agent: "agent",
});
learn("zh", {
  thinking: "思考中",
  thoughtFor: "思考了",
  thought: "已思考",
  handedTo: "已交给",
  agent: "智能体",
});

/** What the model thought, folded away once it speaks. */
export class ReasoningCard {
  constructor(item, app) {
    this.words = app.words;
    this.text = h("div", { class: "thought" });
    this.name = h("span", { class: "name mid" }, app.words.thinking);
    const end = h("span", { class: "end" }, icon("right", "s"));
    const summary = h("summary", { class: "head" }, icon("think", "s"), this.name, end);
    const label = { class: "call reasoning", open: true, "aria-label": app.words.reasoning };
    this.element = h("details", label, summary, h("div", { class: "in small mid" }, this.text));
  }

  update(item) {
    this.text.textContent = item.text;
    if (item.open || this.folded) return;
    this.folded = true;
    this.element.open = false;
    const took = seconds(item.began, item.ended);
    this.name.textContent = took ? `${this.words.thoughtFor} ${took}` : this.words.thought;
  }
}

/** A run inside this one: who it was handed to, which tools that one called, and what it said. */
export class NestedCard extends Folding {
  constructor(item, app) {
    super(`${app.words.inside}: ${item.name}`, app.words, "nested");
    this.prose = new Prose();
    this.calls = h("ul", { class: "calls" });
    put(this.name, `${app.words.handedTo} “${item.name}”`);
    put(this.fn, app.words.agent);
    put(this.details, this.calls, this.prose.element);
    this.element.append(this.head, this.details);
    this.unfold(true);
  }

  update(item) {
    const { words } = this;
    const state = item.failed ? "failed" : item.open ? "running" : item.waiting ? "waiting" : "done";
    const told = {
      failed: words.callFailed,
      running: words.isRunning,
      waiting: words.waitingForYou,
      done: words.isDone,
    };
    this.state(state, told[state]);
    if (state === "running") this.tick(item.began);
    const took = seconds(item.began, item.ended);
    if (state === "done") this.time.textContent = took;
    else if (state !== "running") this.time.textContent = [told[state], took].filter(Boolean).join(" · ");
    put(
      this.calls,
      [...item.calls.values()].map((call) => this.call(call, item)),
    );
    this.prose.show(item.failed ? `${item.text}\n\n${item.failed}` : item.text);
  }

  call({ name, args, result }, { open }) {
    const error = errorOf(result);
    const state = error ? "failed" : result !== undefined ? "done" : open ? "running" : "waiting";
    const given = h("code", { class: "fn cut" }, `${name}(${args})`);
    const told = error ? h("span", { class: "bad cut" }, error.message) : null;
    return h("li", { class: "row small" }, sign(state), h("span", {}, inWords(name)), given, told);
  }
}

const BROKEN_OFF = new Set(["restarted", "cut"]);

/** What went wrong, and what can be done. */
export class FailureCard {
  constructor(item, app) {
    this.app = app;
    this.element = h("section", { class: "call failure", role: "alert" });
  }

  update(item) {
    const { words } = this.app;
    const again = () => {
      this.app.retry();
      this.app.chat.composer.box.focus();
    };
    const retry = h(
      "button",
      { type: "button", class: "btn ink", onclick: again },
      icon("retry", "xs"),
      words.retry,
    );
    const page = { href: `${BASE}/docs/errors/${encodeURIComponent(item.code)}`, target: "_blank" };
    const broken = BROKEN_OFF.has(item.code);
    const code = h("code", {}, item.code);
    const name = h("span", { class: "name" }, broken ? words.interrupted : words.wentWrong);
    const end = h("span", { class: "end" }, item.code ? (broken ? code : h("a", page, code)) : null);
    put(
      this.element,
      h("div", { class: "head" }, sign("failed"), name, end),
      h(
        "div",
        { class: "in" },
        item.text ? h("p", { class: "small mid" }, item.text) : null,
        h("div", { class: "yesno" }, retry),
      ),
    );
  }
}

export class NoteCard {
  constructor(item, { words }) {
    this.element = h("p", { class: "note dim small" }, words[item.word] ?? item.word);
  }

  update() {}
}
