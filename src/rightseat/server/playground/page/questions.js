// What a run asks a person: a yes or a no, a text, or a form made from the question's schema.

import { h, put } from "./dom.js";
import { form } from "./forms.js";
import { Prose } from "./markdown.js";
import { parsed } from "./values.js";
import { learn } from "./words.js";

learn("en", {
  allowOnce: "Allow once",
  notAnswered: "Not answered.",
  wroteInstead: "You wrote a message instead.",
});
learn("zh", { allowOnce: "允许一次", notAnswered: "未回答。", wroteInstead: "你改为发送了一条消息。" });

/** A question that is not about a call of this conversation. In a conversation a call's card asks what is about it. */
export class QuestionCard {
  constructor(item, app) {
    this.app = app;
    this.element = h("section", {
      class: "card pad question",
      "aria-label": app.words.question,
      tabindex: "-1",
    });
  }

  update(item) {
    const { words } = this.app;
    const inCall = item.toolCallId && this.app.talk?.byId.has(item.toolCallId);
    this.element.hidden = Boolean(inCall && this.element.closest(".talk"));
    if (this.element.hidden) return;
    const text = new Prose();
    text.show(item.message ?? "");
    this.element.dataset.state = item.answer ? "answered" : "open";
    if (item.answer) {
      put(this.element, text.element, h("p", { class: "dim" }, told(item.answer, words)));
      return;
    }
    text.element.setAttribute("role", "alert");
    const answer = (payload, status = "resolved") => {
      const inTalk = this.element.closest(".talk");
      this.app.answer(item, { payload, status });
      if (inTalk) this.app.chat.composer.box.focus();
    };
    put(this.element, text.element, entry(item, words, answer));
  }
}

export function kindOf(item) {
  const schema = item.responseSchema ?? {};
  if (schema.properties?.approved) return "confirm";
  return schema.type === "object" && Object.keys(schema.properties ?? {}).length ? "form" : "text";
}

const REFUSED = new Set(["denied", "cancelled"]);
const UNANSWERED = new Set(["no_answer", "not_answered"]);

/** What became of a question about a call: open, allowed, declined, cancelled, answered, ignored; null while it is
 * not known. What the call's result says counts most: it is what happened. */
export function outcomeOf({ answer, ...item }, { result }) {
  const confirm = kindOf(item) === "confirm";
  const code = result === undefined ? undefined : parsed(result)?.error?.code;
  if (REFUSED.has(code)) return confirm ? "declined" : "cancelled";
  if (UNANSWERED.has(code)) return "ignored";
  if (result !== undefined) return confirm ? "allowed" : "answered";
  if (!answer) return "open";
  if (answer.ignored) return "ignored";
  if (answer.status === "cancelled") return "cancelled";
  if (confirm && answer.payload) return answer.payload.approved ? "allowed" : "declined";
  return answer.payload === undefined ? null : "answered";
}

function told({ payload, status, past, ignored, said }, words) {
  if (ignored) return words.notAnswered;
  if (said) return words.wroteInstead;
  if (past) return words.answered;
  if (status === "cancelled") return words.cancelled;
  if (typeof payload === "object" && payload && "approved" in payload) {
    return payload.approved ? words.approved : words.declined;
  }
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}

/** What a person answers with: two buttons, or fields. */
export function entry(item, words, answer) {
  return kindOf(item) === "confirm" ? confirm(words, answer) : fieldsOf(item, words, answer);
}

function confirm(words, answer) {
  const button = (word, approved, look, key) =>
    h(
      "button",
      { type: "button", class: `btn lg ${look}`.trim(), onclick: () => answer({ approved }) },
      word,
      h("span", { class: "kbd desk", "aria-hidden": "true" }, key),
    );
  const yes = button(words.allowOnce, true, "ink", "Y");
  return h("div", { class: "yesno" }, yes, button(words.decline, false, "", "N"));
}

function fieldsOf(item, words, answer) {
  const schema = item.responseSchema ?? {};
  const text = kindOf(item) === "text";
  const alone = { properties: { answer: { ...schema, title: words.answer } }, required: ["answer"] };
  const fields = form(text ? alone : schema, words);
  const send = (event) => {
    event.preventDefault();
    const value = fields.value();
    if (value) answer(text ? value.answer : value);
  };
  const cancel = { type: "button", class: "btn lg", onclick: () => answer(null, "cancelled") };
  const row = h("div", { class: "yesno" }, h("button", { class: "btn ink lg" }, words.send));
  row.append(h("button", cancel, words.cancel));
  return h("form", { onsubmit: send }, fields.element, row);
}
