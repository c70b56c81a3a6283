// The place to write: a text, its files, and one button that sends or stops.

import { h, put } from "./dom.js";
import { content, part, shelf, TooLarge } from "./attachments.js";

const TALLEST = 240;

export class Composer {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.parts = [];
    this.shelf = h("div");
    this.box = h("textarea", {
      id: "say",
      rows: 1,
      "aria-label": words.message,
      placeholder: words.message,
      onkeydown: (event) => this.key(event),
      oninput: () => this.grow(),
      onpaste: (event) => this.pasted(event),
    });
    this.picked = h("input", { type: "file", multiple: true, hidden: true, onchange: () => this.attach() });
    const clip = {
      type: "button",
      class: "quiet attach",
      "aria-label": words.attach,
      title: words.attach,
      onclick: () => this.picked.click(),
    };
    this.send = h("button", { type: "submit", class: "main" }, words.send);
    this.halt = h("button", { type: "button", class: "main stop", onclick: () => app.stop() }, words.stop);
    this.place = h("span", {}, this.send);
    const form = { class: "write", onsubmit: (event) => this.submit(event) };
    this.form = h("form", form, this.picked, h("button", clip, "＋"), this.box, this.place);
    const drop = {
      class: "composer",
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => this.dropped(event),
    };
    this.element = h("div", drop, this.shelf, this.form);
  }

  /** What was written so far outlives a change of the language. */
  get draft() {
    return { text: this.box.value, parts: this.parts };
  }

  set draft({ text, parts }) {
    this.box.value = text;
    this.parts = parts;
    this.show();
    this.grow();
  }

  running(yes) {
    const button = yes ? this.halt : this.send;
    if (this.place.firstChild === button) return;
    // A button that goes takes the focus with it.
    const focused = this.place.contains(document.activeElement);
    put(this.place, button);
    if (focused) this.box.focus();
  }

  async attach(files = [...this.picked.files]) {
    this.picked.value = "";
    const { words } = this.app;
    for (const file of files) {
      try {
        this.parts = [...this.parts, await part(file)];
      } catch (error) {
        this.app.chat.tell(`${file.name}: ${error instanceof TooLarge ? words.tooLarge : error.message}`);
      }
    }
    this.show();
    this.box.focus();
  }

  show() {
    const remove = (one) => {
      this.parts = this.parts.filter((other) => other !== one);
      this.show();
      this.box.focus();
    };
    put(this.shelf, this.parts.length ? shelf(this.parts, this.app.words, remove) : null);
  }

  pasted(event) {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    this.attach(files);
  }

  dropped(event) {
    event.preventDefault();
    this.attach([...event.dataTransfer.files]);
  }

  grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, TALLEST)}px`;
  }

  key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.form.requestSubmit();
    } else if (event.key === "ArrowUp" && !this.box.value) {
      const last = this.app.talk.items.findLast((item) => item.kind === "message" && item.role === "user");
      if (!last) return;
      event.preventDefault();
      this.draft = { text: last.text, parts: this.parts };
    }
  }

  submit(event) {
    event.preventDefault();
    const text = this.box.value.trim();
    // While an answer comes, what is written waits: one Enter too early must not stop it.
    if (this.app.talk.running || (!text && !this.parts.length)) return;
    const { parts } = this;
    this.draft = { text: "", parts: [] };
    this.app.say(content(text, parts));
  }
}
