// The place to write: a text, its files, what answers, and one button that sends or stops.

import { h, put } from "./dom.js";
import { content, part, shelf, TooLarge } from "./attachments.js";
import { answering } from "./answering.js";
import { icon } from "./icons.js";
import { Microphone } from "./microphone.js";

const TALLEST = 240;

export class Composer {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.parts = [];
    this.shelf = h("div");
    this.box = h("textarea", {
      id: "say",
      class: "text",
      rows: 1,
      "aria-label": words.message,
      placeholder: words.message,
      onkeydown: (event) => this.key(event),
      oninput: () => this.typed(),
      onpaste: (event) => this.pasted(event),
    });
    this.picked = h("input", { type: "file", multiple: true, hidden: true, onchange: () => this.attach() });
    this.send = h(
      "button",
      { type: "submit", class: "send", "aria-label": words.send, title: words.send },
      icon("up"),
    );
    const halt = { type: "button", class: "send stop", "aria-label": words.stop, title: words.stop };
    this.halt = h("button", { ...halt, onclick: () => app.stop() }, icon("stop"));
    this.place = h("span", { class: "row" }, this.send);
    this.model = h("span", { class: "row answering" });
    this.tools = h(
      "div",
      { class: "tools" },
      this.clip(),
      this.model,
      h("span", { class: "grow" }),
      Microphone.works(app) ? new Microphone(app, (text) => this.heard(text)).button : null,
      this.place,
    );
    this.form = h(
      "form",
      { class: "say", onsubmit: (event) => this.submit(event) },
      this.picked,
      this.shelf,
      this.box,
      this.tools,
    );
    const drop = {
      class: "composer",
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => this.dropped(event),
    };
    this.element = h("div", drop, this.form);
    this.typed();
    this.answers();
  }

  clip() {
    const { words } = this.app;
    const props = { type: "button", class: "icon", "aria-label": words.attach, title: words.attach };
    return h("button", { ...props, onclick: () => this.picked.click() }, icon("clip"));
  }

  /** What answers here: its tools, and its model, to be chosen where there are several. */
  answers() {
    put(this.model, answering(this.app));
  }

  /** What was written so far outlives a change of the language. */
  get draft() {
    return { text: this.box.value, parts: this.parts };
  }

  set draft({ text, parts }) {
    this.box.value = text;
    this.parts = parts;
    this.show();
    this.typed();
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
    this.typed();
    this.box.focus();
  }

  show() {
    const remove = (one) => {
      this.parts = this.parts.filter((other) => other !== one);
      this.show();
      this.typed();
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

  typed() {
    this.send.disabled = !this.box.value.trim() && !this.parts.length;
    this.box.style.height = "auto";
    if (this.box.value) this.box.style.height = `${Math.min(this.box.scrollHeight, TALLEST)}px`;
  }

  /** What was spoken goes to the end of what is written: it is read before it is sent. */
  heard(text) {
    const written = this.box.value;
    this.box.value = written && !/\s$/.test(written) ? `${written} ${text}` : written + text;
    this.typed();
    this.box.focus();
  }

  key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!this.send.disabled) this.form.requestSubmit();
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
