// The server's own sentences in Chinese: it writes English, and zh.json has each sentence with its places, as {}.

import { BASE } from "./server.js";

let known = null;

/** Fetched once, and only where the page is in Chinese. Without it the sentences stay as they are. */
export async function learnSentences(language) {
  if (language !== "zh" || known) return;
  const response = await fetch(`${BASE}/playground/zh.json`).catch(() => null);
  if (!response?.ok) return;
  const entries = Object.entries(await response.json());
  // Among several that fit, the one with the most words of its own says most.
  const own = (english) => english.replaceAll("{}", "").length;
  const patterns = entries.filter(([english]) => english.includes("{}"));
  known = {
    whole: new Map(entries),
    patterns: patterns.sort(([a], [b]) => own(b) - own(a)).map(([a, b]) => [compiled(a), b]),
  };
}

function compiled(english) {
  const parts = english.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return new RegExp(`^${parts.join("([^]*?)")}$`);
}

/** A sentence of the server in the language of the page; what the page does not know stays as it is. */
export function inLanguage(text, { language }) {
  return language === "zh" && known && text ? translated(text) : text;
}

function translated(text) {
  const whole = known.whole.get(text);
  if (whole) return whole;
  for (const [pattern, chinese] of known.patterns) {
    const found = pattern.exec(text);
    // A part may be a sentence too, such as the reason of a failure.
    if (found) return chinese.replace(/\{(\d)\}/g, (_, at) => (found[at] ? translated(found[at]) : ""));
  }
  return text;
}

/** Whether the sentence has its own words in the language of the page. */
export const isKnown = (text, app) => inLanguage(text, app) !== text;

/** A problem of a plugin's file: where, what, and how to mend it. */
export const problemText = ({ place, what, fix }, app) =>
  `${place}: ${inLanguage(what, app)} ${inLanguage(fix, app)}`;
