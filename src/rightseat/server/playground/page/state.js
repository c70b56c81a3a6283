// An agent's state: as it is, and what each node changed.

import { h, put } from "./dom.js";
import { tree } from "./values.js";

const MOST = 200;

export class State {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "panel scroller pad state" });
  }

  show(talk) {
    const { words } = this.app;
    const known = `${talk.states.length} ${talk.node}`;
    // Nothing new: what somebody has folded stays folded.
    if (known === this.known) return;
    this.known = known;
    if (!talk.state) {
      put(this.element, h("p", { class: "dim" }, words.noState));
      return;
    }
    const node = talk.node ? h("span", { class: "chip acc" }, talk.node) : null;
    const now = h("section", { class: "present" }, h("h3", { class: "h2 row" }, words.stateNow, node));
    now.append(tree(talk.state, talk.stateBefore ?? undefined));
    const changed = talk.states
      .map((one) => ({ ...one, lines: changes(one.before ?? {}, one.after ?? {}) }))
      .filter(({ lines }) => lines.length);
    const steps = changed.slice(-MOST).map((one) => this.change(one, changed.at(-1)));
    put(this.element, now, h("section", {}, h("h3", { class: "h2" }, words.stateChanges), steps));
  }

  change({ node, lines }, last) {
    const { words } = this.app;
    const summary = h("summary", {}, h("code", {}, node ?? words.stateStart), ` ${lines.length}`);
    const line = ([sign, path, value]) =>
      h("div", { class: sign === "+" ? "ok" : "bad" }, `${sign} ${path}: ${JSON.stringify(value)}`);
    return h(
      "details",
      { class: "vary", open: last.lines === lines },
      summary,
      h("pre", { class: "pre" }, lines.map(line)),
    );
  }
}

/** What differs, as lines: ["-", path, before] and ["+", path, after]. */
export function changes(before, after, path = "") {
  if (before === after) return [];
  const nested = (value) => value !== null && typeof value === "object";
  if (!nested(before) || !nested(after) || Array.isArray(before) !== Array.isArray(after)) {
    const gone = before === undefined ? [] : [["-", path, before]];
    return [...gone, ...(after === undefined ? [] : [["+", path, after]])];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => changes(before[name], after[name], path ? `${path}.${name}` : name));
}
