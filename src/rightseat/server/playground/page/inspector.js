// The last run, looked into: when what happened, the raw events, the agent's state, the bytes of every door.

import { h, put } from "./dom.js";
import { Prompts, Wire } from "./asked.js";
import { Raw } from "./raw.js";
import { State } from "./state.js";
import { Timeline } from "./timeline.js";
import { learn } from "./words.js";

learn("en", {
  noRun: "There is no run yet. Ask a question to see its run here.",
});
learn("zh", {
  noRun: "还没有提问。提问后可在此查看过程。",
});

const PANELS = { timeline: Timeline, raw: Raw, state: State, prompts: Prompts, wire: Wire };
const NAMES = Object.keys(PANELS);
const OFTEN = 250;

export class Inspector {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.tab = NAMES[0];
    this.body = h("div", { id: "inspected", class: "inspected", role: "tabpanel", tabindex: "0" });
    this.tabs = NAMES.map((name) => this.handle(name));
    const list = { class: "tabs", role: "tablist", "aria-label": words.inspector };
    const bar = h("div", { ...list, onkeydown: (event) => this.key(event) }, this.tabs);
    this.element = h(
      "aside",
      { class: "inspector", hidden: true, "aria-label": words.inspector },
      bar,
      this.body,
    );
    this.choose(this.tab);
  }

  handle(name) {
    const props = { type: "button", class: "quiet", role: "tab", "aria-controls": "inspected" };
    return h(
      "button",
      { ...props, dataset: { tab: name }, onclick: () => this.choose(name) },
      this.app.words[name],
    );
  }

  get open() {
    return !this.element.hidden;
  }

  toggle(tab = this.tab) {
    this.element.hidden = !this.element.hidden;
    if (this.open) this.choose(tab);
    return this.open;
  }

  choose(name) {
    this.tab = name;
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    this.panel = null;
    if (this.open) this.show();
  }

  /** The arrows go from tab to tab, as in every list of tabs. */
  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (NAMES.indexOf(this.tab) + step + NAMES.length) % NAMES.length;
    this.choose(NAMES[at]);
    this.tabs[at].focus();
  }

  /** At most four times a second: a fast answer has hundreds of events. */
  draw() {
    if (!this.open || this.waiting) return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.show();
    }, OFTEN);
  }

  show() {
    const { talk, words } = this.app;
    if (!talk.run) {
      this.panel = null;
      put(this.body, h("p", { class: "dim" }, words.noRun));
      return;
    }
    if (!this.panel) {
      this.panel = new PANELS[this.tab](this.app);
      put(this.body, this.panel.element);
    }
    this.panel.show(talk);
  }
}
