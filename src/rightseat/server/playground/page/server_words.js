// The server's own sentences in Chinese: it writes English, and zh.json has each sentence with its places, as {}.

import { BASE } from "./server.js";

const SURE = 16;
let known = null;

/** Fetched once, and only where the page is in Chinese. Without it the sentences stay as they are. */
export async function learnSentences(language) {
  if (language !== "zh" || known) return;
  const response = await fetch(`${BASE}/playground/zh.json`).catch(() => null);
  if (!response?.ok) return;
  const entries = Object.entries(await response.json());
  const patterns = entries.filter(([english]) => english.includes("{}")).map(compiled);
  // Among several that fit, the one with the most words of its own says most.
  known = { whole: new Map(entries), patterns: patterns.sort((a, b) => b.own - a.own) };
}

function compiled([english, chinese]) {
  const parts = english.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const own = english.replaceAll("{}", "").length;
  return { expression: new RegExp(`^${parts.join("([^]*?)")}$`), own, chinese };
}

/** A sentence of the server in the language of the page; what the page does not know stays as it is. */
export function inLanguage(text, { language }) {
  return language === "zh" && known && text ? translated(text) : text;
}

function translated(text) {
  return (
    known.whole.get(text) ?? byPattern(text, isSure) ?? inParts(text) ?? byPattern(text, isShort) ?? text
  );
}

/** A pattern of a few letters fits nearly everything: then what it leaves open must be short. */
const isSure = (pattern) => pattern.own >= SURE;
const isShort = (pattern, found) => found.slice(1).every((part) => !/[.?] |:$/.test(part));

function byPattern(text, fits) {
  for (const pattern of known.patterns) {
    const found = pattern.expression.exec(text);
    // A part may be a sentence too, such as the reason of a failure; a single word is a name.
    const part = (_, at) => (found[at].includes(" ") ? translated(found[at]) : found[at]);
    if (found && fits(pattern, found)) return pattern.chinese.replace(/\{(\d)\}/g, part);
  }
  return undefined;
}

/** Several sentences, or one behind its place, as in "file.yaml:2: steps: It has no steps." */
function inParts(text) {
  const sentences = text.split(/(?<=[.?]) (?=[A-Z`])/);
  if (sentences.length > 1) return sentences.map(translated).join(" ");
  const [, place, rest] = /^([^\s:]\S*: )(.+)$/s.exec(text) ?? [];
  if (!rest) return undefined;
  const said = translated(rest);
  return said === rest ? undefined : place + said;
}

/** Whether the sentence has its own words in the language of the page. */
export const isKnown = (text, app) => inLanguage(text, app) !== text;

/** A problem of a plugin's file: where, what, and how to mend it. */
export const problemText = ({ place, what, fix }, app) =>
  `${place}: ${inLanguage(what, app)} ${inLanguage(fix, app)}`;
