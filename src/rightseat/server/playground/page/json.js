// Data as coloured JSON, made of elements.

import { h } from "./dom.js";

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MANY = 60_000;

/** A box with the data in it: text as it is, anything else as JSON. */
export function json(data, kind = "pre box wrapit") {
  const text = typeof data === "string" ? data : (JSON.stringify(data, null, 2) ?? "");
  const shown = text.length > MANY ? `${text.slice(0, MANY)}…` : text;
  return h("pre", { class: kind, tabindex: "0" }, typeof data === "string" ? shown : coloured(shown));
}

/** The parts of a JSON text; names, strings, numbers and words are marked. */
export function coloured(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    const kind = colon ? "c-k" : string ? "c-s" : /^[tfn]/.test(whole) ? "c-w" : "c-n";
    parts.push(text.slice(at, match.index), h("span", { class: kind }, string ?? whole), colon ?? "");
    at = match.index + whole.length;
  }
  return [...parts, text.slice(at)];
}
