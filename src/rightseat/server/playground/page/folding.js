// A card with a head that says what happens and how long it takes, and details that fold away.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";

/** Seconds between two times; nothing where both came at once, as in a replay. */
export function seconds(from, to) {
  const passed = to - from;
  return from && to && passed > 2 ? `${(passed / 1000).toFixed(passed < 1000 ? 2 : 1)} s` : "";
}

/** find_order → Find order */
export function inWords(name) {
  const spaced =
    name
      .replace(/[_-]+/g, " ")
      .replace(/([a-z\d])([A-Z])/g, "$1 $2")
      .trim() || name;
  return spaced[0].toUpperCase() + spaced.slice(1);
}

const SIGNS = {
  done: ["ok", "check"],
  failed: ["bad", "x"],
  cut: ["off", "minus"],
  asking: ["warn", "hand"],
  waiting: ["off", "clock"],
  declined: ["off", "x"],
  ignored: ["off", "skip"],
};

/** The sign of a state: a spinner while it runs, else a coloured icon. */
export function sign(state) {
  if (state === "running") return h("span", { class: "spin" });
  const [colour, name] = SIGNS[state];
  return h("span", { class: `st ${colour}` }, icon(name));
}

/** A card with a head that folds its details. What a person opened or closed stays so. */
export class Folding {
  constructor(label, words, look = "") {
    this.words = words;
    this.lead = h("span", { class: "row" });
    this.name = h("span", { class: "name cut" });
    this.fn = h("code", { class: "fn cut" });
    this.time = h("span", { class: "num" });
    this.status = h("span", { class: "sr", role: "status" });
    const fold = {
      type: "button",
      class: "icon sm",
      "aria-label": words.details,
      onclick: () => this.toggle(),
    };
    this.button = h("button", fold);
    const end = h("span", { class: "end" }, this.time, this.button);
    const touched = (event) => event.target.closest("button, a") || this.button.hidden || this.toggle();
    this.head = h(
      "div",
      { class: "head", onclick: touched },
      this.lead,
      this.name,
      this.fn,
      end,
      this.status,
    );
    this.details = h("div", { class: "in details" });
    this.look = look;
    this.element = h("section", { "aria-label": label });
    this.unfold(false);
  }

  toggle() {
    this.chosen = true;
    this.unfold(!this.open);
  }

  /** Open or closed, as long as no person chose. */
  fit(open) {
    if (!this.chosen) this.unfold(open);
  }

  unfold(open) {
    this.open = open;
    this.details.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    put(this.button, icon(open ? "down" : "right", "s"));
  }

  state(name, told) {
    this.element.className = `call ${this.look} ${{ running: "run", asking: "ask" }[name] ?? ""}`.trim();
    if (this.element.dataset.state === name) return;
    this.element.dataset.state = name;
    put(this.lead, sign(name));
    this.status.textContent = told;
  }

  /** Seconds that go on by themselves until the state is another. */
  tick(from) {
    if (this.ticking || !from) return;
    const show = () => {
      const over = this.element.dataset.state !== "running" || !this.element.isConnected;
      if (over) this.ticking = clearInterval(this.ticking);
      else this.time.textContent = `${Math.max((Date.now() - from) / 1000, 0).toFixed(1)} s`;
    };
    this.ticking = setInterval(show, 100);
  }
}
