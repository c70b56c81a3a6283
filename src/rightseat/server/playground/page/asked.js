// What is asked of the server about a run, and the prompts of a local model. Loading ends: with what was asked for,
// or with an error and a button.

import { copyButton } from "./copying.js";
import { h, put } from "./dom.js";
import { groups } from "./spans.js";
import * as server from "./server.js";

const LONGEST = 15_000;

/** Asked once for each run, when it has ended. Which run: the selected one, else the last. */
export class Asked {
  constructor(app, inspector) {
    const { words } = app;
    this.app = app;
    this.inspector = inspector;
    this.kept = new Map();
    const props = { class: "input pickrun", "aria-label": words.whichRun };
    this.choice = h("select", { ...props, onchange: () => this.choose(this.choice.value) });
    this.body = h("div", { class: "asked", "aria-live": "polite" });
    this.element = h(
      "div",
      { class: "panel" },
      h("div", { class: "tools" }, this.choice, this.hint()),
      this.body,
    );
  }

  hint() {
    return null;
  }

  choose(id) {
    this.run = id;
    this.shown = null;
    this.show(this.app.talk);
  }

  show(talk) {
    this.options(talk);
    const run = talk.runs.find(({ id }) => id === this.run) ?? talk.run;
    if (run === talk.run && talk.running) {
      this.shown = null;
      put(this.body, h("p", { class: "pad dim" }, this.app.words.whileRunning));
      return;
    }
    if (this.shown === run.id) return;
    this.shown = run.id;
    this.load(run.id);
  }

  /** The runs, by the number that they have in the trace; the selected one, else the last, is shown. */
  options(talk) {
    const { words } = this.app;
    const known = `${talk.runs.map(({ id }) => id).join()} ${this.inspector.selected}`;
    if (known === this.listed) return;
    this.listed = known;
    const row = this.inspector.panels.trace?.current;
    this.run = row?.run ?? row?.axis?.runs[0].id ?? talk.run.id;
    const named = (run, part, number) => {
      const text = part ? words.afterAnswer : (talk.byId.get(run.said)?.text ?? "").slice(0, 80);
      return h("option", { value: run.id }, `${words.runName.replace("#", number + 1)} · ${text}`);
    };
    put(
      this.choice,
      groups(talk.runs).flatMap((runs, number) => runs.map((run, part) => named(run, part, number))),
    );
    this.choice.value = this.run;
  }

  async load(run) {
    const { words } = this.app;
    put(this.body, h("p", { class: "pad dim", role: "status" }, words.loading));
    try {
      if (!this.kept.has(run)) this.kept.set(run, await limited(this.fetch(encodeURIComponent(run)), words));
      if (this.shown === run) put(this.body, this.drawn(this.kept.get(run)));
    } catch (error) {
      if (this.shown !== run) return;
      const again = { type: "button", class: "btn", onclick: () => this.load(run) };
      const told = error.status || error.late ? error.message : words.offline;
      const text = h("p", { class: "bad" }, told);
      put(this.body, h("div", { class: "pad col", role: "alert" }, text, h("button", again, words.retry)));
    }
  }
}

/** What takes too long is an error that says so. */
function limited(promise, words) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = Object.assign(new Error(words.noAnswerYet), { late: true });
    timer = setTimeout(() => reject(error), LONGEST);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export class Prompts extends Asked {
  fetch(run) {
    return server.get(`/playground/prompts/${run}`);
  }

  drawn(found) {
    const { words } = this.app;
    if (!found.length) return h("p", { class: "pad dim" }, words.noPrompt);
    const part = (title, text) => [
      h(
        "div",
        { class: "row between" },
        h("h3", { class: "h2" }, title),
        copyButton(text, words.copy, words),
      ),
      h("pre", { class: "pre box wrapit", tabindex: "0" }, text),
    ];
    const parts = found.map(({ prompt, grammar }, number) =>
      h(
        "section",
        { class: "pad col" },
        part(words.promptOf.replace("#", number + 1), prompt),
        grammar ? part(words.grammar, grammar) : null,
      ),
    );
    return h("div", { class: "scroller" }, parts);
  }
}
