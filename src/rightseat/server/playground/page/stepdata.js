// What went into a step of a flow, and what came out of it.

import { copier, h } from "./dom.js";
import { json } from "./json.js";

/** `side` is "input" or "output"; `choose(side)` is called for the other one. */
export function describeStep({ name, visit, times, side }, words, choose) {
  const shown = visit?.[side];
  const text = () => (typeof shown === "string" ? shown : JSON.stringify(shown, null, 2));
  const button = (one, word) => {
    const props = { type: "button", "aria-pressed": String(side === one), onclick: () => choose(one) };
    return h("button", props, word);
  };
  const sides = h("div", { class: "seg" }, button("input", words.stepIn), button("output", words.stepOut));
  const often = times > 1 ? h("span", { class: "chip sq" }, `${times} ${words.stepTimes}`) : null;
  const copy = shown === undefined ? null : copier(text, words);
  copy?.classList.add("btn", "sm");
  const title = h("h2", { class: "small cut", title: name }, name);
  return [
    h("div", { class: "row" }, title, often, h("span", { class: "grow" }), visit ? [copy, sides] : null),
    visit?.error ? h("p", { class: "bad small" }, visit.error) : null,
    visit?.message ? h("p", { class: "small" }, visit.message) : null,
    visit ? null : h("p", { class: "dim small" }, words.stepNotRun),
    visit && shown === undefined && !visit.error ? h("p", { class: "dim small" }, words.stepNoData) : null,
    shown === undefined ? null : json(shown),
  ];
}
