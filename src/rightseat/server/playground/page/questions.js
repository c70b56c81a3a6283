// What a run asks a person: a yes or a no, a text, or a form made from the question's schema.

import { h, put } from "./dom.js";
import { form } from "./forms.js";
import { Prose } from "./markdown.js";

export class QuestionCard {
  constructor(item, app) {
    this.app = app;
    this.element = h("section", { class: "card question", "aria-label": app.words.question });
  }

  update(item) {
    const { words } = this.app;
    const text = new Prose();
    text.show(item.message ?? "");
    this.element.dataset.state = item.answer ? "answered" : "open";
    if (item.answer) {
      put(this.element, text.element, h("p", { class: "dim" }, told(item.answer, words)));
      return;
    }
    const answer = (payload, status = "resolved") => this.app.answer(item, { payload, status });
    const entry = kind(item) === "confirm" ? confirm(words, answer) : asked(item, words, answer);
    put(this.element, text.element, entry);
  }
}

function kind(item) {
  const schema = item.responseSchema ?? {};
  if (schema.properties?.approved) return "confirm";
  return schema.type === "object" && Object.keys(schema.properties ?? {}).length ? "form" : "text";
}

function told({ payload, status, past }, words) {
  if (past) return words.answered;
  if (status === "cancelled") return words.cancelled;
  if (typeof payload === "object" && payload && "approved" in payload) {
    return payload.approved ? words.approved : words.declined;
  }
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}

function confirm(words, answer) {
  const button = (word, approved, look) =>
    h("button", { type: "button", class: look, onclick: () => answer({ approved }) }, word);
  return h("div", { class: "row" }, button(words.approve, true, "main"), button(words.decline, false, null));
}

function asked(item, words, answer) {
  const schema = item.responseSchema ?? {};
  const text = kind(item) === "text";
  const alone = { properties: { answer: { ...schema, title: words.answer } }, required: ["answer"] };
  const fields = form(text ? alone : schema, words);
  const send = (event) => {
    event.preventDefault();
    const value = fields.value();
    if (value) answer(text ? value.answer : value);
  };
  const cancel = h("button", { type: "button", onclick: () => answer(null, "cancelled") }, words.cancel);
  const row = h("div", { class: "row" }, h("button", { class: "main" }, words.send), cancel);
  return h("form", { onsubmit: send }, fields.element, row);
}
