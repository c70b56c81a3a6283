// The conversation, looked into: when what happened, the events, the agent's state, the prompts, the bytes of every
// endpoint. What is selected in the trace is marked in the chat, and the other way round.

import { h, put, download } from "./dom.js";
import { Prompts } from "./asked.js";
import { cost, seconds, tokens } from "./format.js";
import { icon } from "./icons.js";
import "./inspector_words.js";
import { Raw } from "./raw.js";
import { script } from "./script.js";
import { rowOf, spans, sum } from "./spans.js";
import { State } from "./state.js";
import { Trace } from "./trace.js";
import { Wire } from "./wire.js";

const PANELS = { trace: Trace, raw: Raw, state: State, prompts: Prompts, wire: Wire };
const NAMES = Object.keys(PANELS);
const OFTEN = 250;

export class Inspector {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.tab = NAMES[0];
    this.selected = null;
    this.panels = {};
    this.body = h("div", {
      id: "inspected",
      class: "inspected",
      role: "tabpanel",
      "aria-label": words.inspector,
    });
    this.tabs = NAMES.map((name) => this.handle(name));
    const list = { class: "tabs grow", role: "tablist", "aria-label": words.inspector };
    this.facts = h("span", { class: "facts desk num" });
    const save = { type: "button", class: "btn sm desk", title: words.saveHint, onclick: () => this.save() };
    const close = { type: "button", class: "icon", "aria-label": words.closeInspector };
    const bar = h(
      "div",
      { class: "topbar" },
      h("div", { ...list, onkeydown: (event) => this.key(event) }, this.tabs),
      this.facts,
      h("button", save, icon("save", "xs"), words.saveTest),
      h("button", { ...close, title: words.closeInspector, onclick: () => this.close() }, icon("x")),
    );
    const props = { class: "insp sheet", hidden: true, "aria-label": words.inspector };
    const leave = (event) => this.leave(event);
    this.element = h("aside", { ...props, onkeydown: leave }, h("div", { class: "grab" }), bar, this.body);
    this.choose(this.tab);
  }

  handle(name) {
    const props = { type: "button", role: "tab", "aria-controls": "inspected", dataset: { tab: name } };
    return h("button", { ...props, onclick: () => this.choose(name) }, this.app.words[name]);
  }

  get open() {
    return !this.element.hidden;
  }

  toggle(tab = this.tab) {
    this.element.hidden = !this.element.hidden;
    if (this.open) {
      this.listen();
      this.choose(tab);
    }
    this.mark();
    return this.open;
  }

  close() {
    if (this.open) this.app.chat.inspect();
    this.app.chat.looking?.focus();
  }

  /** Escape closes the inspector, unless it is to stop a run. */
  leave(event) {
    if (event.key !== "Escape" || this.app.talk.running) return;
    event.stopPropagation();
    this.close();
  }

  choose(name) {
    this.tab = name;
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
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
      if (this.open) this.show();
    }, OFTEN);
  }

  show() {
    const { talk, words } = this.app;
    if (talk !== this.talk) this.panels = {};
    this.talk = talk;
    this.total();
    if (!talk.runs.length) {
      put(this.body, h("p", { class: "pad dim" }, words.noRun));
      return;
    }
    const panel = (this.panels[this.tab] ??= new PANELS[this.tab](this.app, this));
    if (this.body.firstChild !== panel.element) put(this.body, panel.element);
    panel.show(talk);
    this.mark();
    // Seconds go on while nothing comes.
    if (talk.running || talk.questions.length) this.draw();
  }

  /** The whole conversation. People's time is in no total. */
  total() {
    const { talk, words } = this.app;
    const rows = spans(talk, words);
    const usage = sum(rows);
    const fact = (value, word) => h("span", {}, h("b", {}, value), word ? ` ${word}` : "");
    const took = rows.reduce((all, { from, to, untimed }) => all + (untimed ? 0 : to - from), 0);
    put(
      this.facts,
      rows.length ? fact(String(rows.length), rows.length === 1 ? words.runTotal : words.runsTotal) : null,
      rows.length ? fact(seconds(took)) : null,
      usage.input + usage.output ? fact(tokens(usage), words.tokens) : null,
      usage.cost ? fact(cost(usage), words.cost) : null,
    );
  }

  /** Opens the span of something in the chat: a message, a call, a question. */
  reveal(id) {
    if (!this.open) this.app.chat.inspect(NAMES[0]);
    else if (this.tab !== NAMES[0]) this.choose(NAMES[0]);
    this.panels.trace?.reveal(id);
  }

  /** Scrolls the chat to what a row is about. On a phone the chat is below the sheet, which goes. */
  showInChat({ item }) {
    const card = this.app.chat.views.get(item)?.element;
    if (!card) return;
    const sheet = matchMedia("(max-width: 760px)").matches;
    if (sheet || !card.getClientRects().length) this.app.chat.inspect();
    this.app.chat.following = false;
    card.scrollIntoView({ block: "center" });
    card.tabIndex = -1;
    card.focus({ preventScroll: true });
    this.mark(item);
  }

  /** Marks in the chat what the selected row shows. */
  mark(item = this.marked()) {
    const { chat } = this.app;
    if (!chat) return;
    for (const card of chat.log.querySelectorAll(".linked")) card.classList.remove("linked");
    if (item) chat.views.get(item)?.element?.classList.add("linked");
  }

  marked() {
    const { trace } = this.panels;
    return this.open && this.selected ? trace?.current?.item : null;
  }

  /** While the inspector is open, a click on a card selects its span. */
  listen() {
    if (this.listens) return;
    this.listens = true;
    const { chat } = this.app;
    chat.log.addEventListener("click", ({ target }) => {
      if (!this.open || target.closest("a, button, input, select, textarea, summary, label")) return;
      if (String(getSelection())) return;
      for (const [id, { element }] of chat.views) if (element?.contains(target)) this.select(id);
    });
  }

  select(id) {
    if (this.tab === NAMES[0]) this.panels.trace?.reveal(id);
    else this.selected = rowOf(spans(this.app.talk, this.app.words), id)?.id ?? null;
    this.show();
  }

  save() {
    download("run.json", `${JSON.stringify(script(this.app.talk), null, 2)}\n`, "application/json");
  }
}
