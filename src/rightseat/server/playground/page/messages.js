// What a person or the assistant said, with what can be done about it.

import { h, put, copied } from "./dom.js";
import { content, files, shelf } from "./attachments.js";
import { icon } from "./icons.js";
import { Prose } from "./markdown.js";
import { learn } from "./words.js";

learn("en", { showRun: "Show in inspector" });
learn("zh", { showRun: "在检查器中查看" });

export class MessageCard {
  constructor(item, app) {
    this.app = app;
    this.prose = new Prose();
    this.files = h("div");
    this.acts = h("div", { class: "acts" });
    this.mine = item.role === "user";
    const who = this.mine ? app.words.you : app.words.assistant;
    this.said = h("div", { class: this.mine ? "mine" : "theirs" }, this.files, this.prose.element);
    this.element = h("article", { class: `message ${item.role}`, "aria-label": who });
    this.whole();
  }

  whole() {
    put(this.element, this.said, this.acts);
  }

  update(item) {
    this.element.setAttribute("aria-busy", String(Boolean(item.open)));
    this.prose.show(item.text);
    if (item.open) return;
    const { words } = this.app;
    const parts = files(item.content);
    put(this.files, parts.length ? shelf(parts, words) : null);
    if (this.acts.firstChild) return;
    const again = this.mine
      ? act("edit", words.edit, () => this.edit(item))
      : act("retry", words.retry, () => this.app.again(item));
    const reveal = () => this.app.reveal(item.id);
    const trace = this.mine ? null : act("trace", words.showRun, reveal);
    put(
      this.acts,
      copyButton(() => item.text, words),
      again,
      trace,
    );
  }

  /** Its files stay unless they are taken out. */
  edit(item) {
    const { words } = this.app;
    let parts = files(item.content);
    const text = h("textarea", { class: "input", rows: 3, "aria-label": words.edit, value: item.text });
    const kept = h("div");
    const remove = (one) => {
      parts = parts.filter((other) => other !== one);
      show();
    };
    const show = () => put(kept, parts.length ? shelf(parts, words, remove) : null);
    const back = () => {
      this.whole();
      this.acts.querySelector("[data-act=edit]")?.focus();
    };
    const send = (event) => {
      event.preventDefault();
      if (!text.value.trim() && !parts.length) return;
      this.app.branch(item, content(text.value, parts));
    };
    const key = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      back();
    };
    const cancel = h("button", { type: "button", class: "btn", onclick: back }, words.cancel);
    const row = h("div", { class: "row" }, h("button", { class: "btn ink" }, words.branch), cancel);
    show();
    put(this.element, h("form", { class: "card pad col", onsubmit: send, onkeydown: key }, kept, text, row));
    text.focus();
  }
}

function act(name, label, onclick) {
  const props = { type: "button", class: "icon", "aria-label": label, title: label, dataset: { act: name } };
  return h("button", { ...props, onclick }, icon(name, "s"));
}

/** Copies, and says so for a moment. */
function copyButton(text, words) {
  const button = act("copy", words.copy, async () => {
    const done = await copied(text());
    const label = done ? words.copied : words.notCopied;
    put(button, icon(done ? "check" : "warn", "s"));
    button.setAttribute("aria-label", label);
    setTimeout(() => {
      put(button, icon("copy", "s"));
      button.setAttribute("aria-label", words.copy);
    }, 1500);
  });
  return button;
}
