// What stands in a conversation besides words: tool calls, thoughts, runs inside, sources, and what went wrong.

import { h, put } from "./dom.js";
import { parsed, value as shown } from "./values.js";
import { Prose, link } from "./markdown.js";

const time = (from, to) => (from && to ? `${((to - from) / 1000).toFixed(to - from < 9950 ? 1 : 0)} s` : "");

/** A tool call: its arguments as they come, its result, how long it took. */
export class CallCard {
  constructor(item, app) {
    this.app = app;
    this.status = h("span", { class: "status", role: "status" });
    this.args = h("div", { class: "args" });
    this.result = h("div", { class: "result" });
    const sign = h("span", { "aria-hidden": "true" }, "⚙");
    const summary = h("summary", {}, sign, h("code", {}, item.name), this.status);
    const body = h("details", { open: true }, summary, this.args, this.result);
    this.element = h(
      "section",
      { class: "card call", "aria-label": `${app.words.tool}: ${item.name}` },
      body,
    );
  }

  update(item) {
    const { words } = this.app;
    const state = stateOf(item);
    this.element.dataset.state = state;
    this.status.textContent = `${words[state]} ${time(item.began, item.answered)}`.trim();
    if (!item.ended) put(this.args, h("pre", {}, item.args || "…"));
    else if (item.args !== this.given) {
      this.given = item.args;
      put(this.args, item.args === "{}" ? null : shown(parsed(item.args), words));
    }
    if (item.result === this.answered) return;
    this.answered = item.result;
    const failure = failed(item.result);
    put(this.result, failure ? h("p", { class: "bad" }, failure) : shown(parsed(item.result), words));
  }
}

function stateOf({ result, open, waiting, ended }) {
  if (result !== undefined) return failed(result) ? "failed" : "done";
  if (open) return "running";
  return waiting && ended ? "waiting" : "cut";
}

/** What a result says went wrong; nothing where it is one. */
function failed(result) {
  const told = result === undefined ? null : parsed(result);
  return told && typeof told === "object" ? (told.error?.message ?? "") : "";
}

/** What the model thought, folded away once it speaks. */
export class ReasoningCard {
  constructor(item, app) {
    this.text = h("div", { class: "thought" });
    const summary = h("summary", {}, app.words.reasoning);
    this.element = h("details", { class: "card reasoning", open: true }, summary, this.text);
  }

  update(item) {
    this.text.textContent = item.text;
    if (item.open || this.folded) return;
    this.folded = true;
    this.element.open = false;
  }
}

/** A run inside this one: who it was handed to, which tools that one called, and what it said. */
export class NestedCard {
  constructor(item, app) {
    this.app = app;
    this.prose = new Prose();
    this.calls = h("ul", { class: "calls" });
    this.status = h("span", { class: "status", role: "status" });
    const sign = h("span", { "aria-hidden": "true" }, "↪");
    const summary = h("summary", {}, sign, h("strong", {}, item.name), this.status);
    const name = `${app.words.inside}: ${item.name}`;
    this.element = h("section", { class: "card nested", "aria-label": name });
    this.element.append(h("details", { open: true }, summary, this.calls, this.prose.element));
  }

  update(item) {
    const { words } = this.app;
    const state = item.failed ? "failed" : item.open ? "running" : item.waiting ? "waiting" : "done";
    this.element.dataset.state = state;
    this.status.textContent = `${words[state]} ${item.open ? "" : time(item.began, item.ended)}`.trim();
    put(
      this.calls,
      [...item.calls.values()].map((call) => this.call(call)),
    );
    this.prose.show(item.failed ? `${item.text}\n\n${item.failed}` : item.text);
  }

  call({ name, args, result }) {
    const bad = failed(result);
    const mark = result === undefined ? "…" : bad ? "✗" : "✓";
    return h("li", { class: bad ? "bad" : null }, "⚙ ", h("code", {}, `${name}(${args})`), ` ${mark} ${bad}`);
  }
}

/** Where an answer has it from. */
export class CitationsCard {
  constructor(item, { words }) {
    const entries = (item.items ?? []).map((one) => {
      const info = one.source_info ?? one;
      const url = info.url ?? info.metadata?.url;
      const name = info.name ?? info.title ?? url ?? "";
      const told = info.description ?? one.text ?? "";
      return h(
        "li",
        {},
        url ? link(url, name, name) : name,
        told ? h("span", { class: "dim" }, ` ${told}`) : null,
      );
    });
    const title = h("h3", {}, words.sources);
    this.element = h(
      "section",
      { class: "card citations", "aria-label": words.sources },
      title,
      h("ol", {}, entries),
    );
  }

  update() {}
}

const BROKEN_OFF = new Set(["restarted", "cut"]);

/** What went wrong, and what can be done. */
export class FailureCard {
  constructor(item, app) {
    this.app = app;
    this.element = h("section", { class: "card failure", role: "alert" });
  }

  update(item) {
    const { words } = this.app;
    const retry = h(
      "button",
      { type: "button", class: "main", onclick: () => this.app.retry() },
      words.retry,
    );
    put(
      this.element,
      h("strong", {}, BROKEN_OFF.has(item.code) ? words.interrupted : words.wentWrong),
      item.text ? h("p", {}, item.text) : null,
      item.code ? h("p", { class: "dim" }, h("code", {}, item.code)) : null,
      h("div", { class: "row" }, retry),
    );
  }
}

export class NoteCard {
  constructor(item, { words }) {
    this.element = h("p", { class: "note dim" }, words[item.word] ?? item.word);
  }

  update() {}
}
