// What a person or the assistant said, with what can be done about it.

import { h, put, copier } from "./dom.js";
import { content, files, shelf } from "./attachments.js";
import { Prose } from "./markdown.js";

export class MessageCard {
  constructor(item, app) {
    this.app = app;
    this.prose = new Prose();
    this.files = h("div");
    this.foot = h("div", { class: "foot" });
    const who = item.role === "user" ? app.words.you : app.words.assistant;
    this.element = h("article", { class: `message ${item.role}`, "aria-label": who });
    this.whole();
  }

  whole() {
    put(this.element, this.files, this.prose.element, this.foot);
  }

  update(item) {
    this.element.setAttribute("aria-busy", String(Boolean(item.open)));
    this.prose.show(item.text);
    if (item.open) return;
    const { words } = this.app;
    const parts = files(item.content);
    put(this.files, parts.length ? shelf(parts, words) : null);
    const [word, act] =
      item.role === "user" ? [words.edit, () => this.edit(item)] : [words.retry, () => this.app.again(item)];
    const button = h("button", { type: "button", class: "quiet", onclick: act }, word);
    put(this.foot, copier(item.text, words), button);
  }

  /** Its files stay unless they are taken out. */
  edit(item) {
    const { words } = this.app;
    let parts = files(item.content);
    const text = h("textarea", { rows: 3, "aria-label": words.edit, value: item.text });
    const kept = h("div");
    const remove = (one) => {
      parts = parts.filter((other) => other !== one);
      show();
    };
    const show = () => put(kept, parts.length ? shelf(parts, words, remove) : null);
    const back = () => {
      this.whole();
      this.foot.querySelector("button")?.focus();
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
    const cancel = h("button", { type: "button", onclick: back }, words.cancel);
    const row = h("div", { class: "row" }, h("button", { class: "main" }, words.branch), cancel);
    show();
    put(this.element, h("form", { onsubmit: send, onkeydown: key }, kept, text, row));
    text.focus();
  }
}
