// Times, tokens and cost as the inspector writes them, and JSON in colours.

import { h } from "./dom.js";

/** "4 ms", "0.21 s", "12.4 s", "3 min 5 s"; nothing known is a dash. */
export function seconds(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 100) return ms < 1 ? "< 1 ms" : `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const count = new Intl.NumberFormat("en");
export const tokens = (usage) =>
  usage ? `${count.format(usage.input)} + ${count.format(usage.output)}` : "";
/** In the currency of the configured prices, which the server does not know. */
export const cost = (usage) => (usage?.cost ? String(Number(usage.cost.toPrecision(2))) : "");
export const size = (bytes) => (bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} KB`);

/** 14:02:11.482 */
export function clock(ms) {
  const at = new Date(ms);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two);
  return `${hours}:${minutes}:${rest}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

const PART = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
const LONGEST = 60_000;

/** JSON, or a line that holds some, with its keys and values coloured. */
export function coloured(text) {
  const found = [];
  let last = 0;
  for (const match of text.slice(0, LONGEST).matchAll(PART)) {
    const [whole, string, colon, number, word] = match;
    found.push(text.slice(last, match.index));
    if (string) found.push(h("span", { class: colon ? "c-k" : "c-s" }, string), colon ?? "");
    else found.push(h("span", { class: number ? "c-n" : "c-w" }, number ?? word));
    last = match.index + whole.length;
  }
  return [...found, text.slice(last)];
}

/** A value, or a text that may be JSON, as coloured and broken into lines. */
export function json(value) {
  let text = value;
  try {
    text = JSON.stringify(typeof value === "string" ? JSON.parse(value) : value, null, 2);
  } catch {
    // Plain text.
  }
  return coloured(text ?? "");
}
