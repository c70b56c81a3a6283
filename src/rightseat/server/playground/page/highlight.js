// Colours for code, the same few for every language: comments, strings, numbers, words that languages reserve.

import { h } from "./dom.js";

const WORDS = new Set(
  (
    "and as assert async await break case catch class const continue def default del do elif else enum except export " +
    "extends false finally fn for from func function global if implements import in interface is lambda let match " +
    "mut new nil none not null or pass private protected pub public raise return select self static struct super " +
    "switch this throw trait true try type undefined use var void where while with yield " +
    "insert update delete create table into values order group by limit join left right inner outer on having"
  ).split(" "),
);
const HASH = new Set([
  "py",
  "python",
  "sh",
  "bash",
  "shell",
  "console",
  "yaml",
  "yml",
  "toml",
  "ruby",
  "rb",
  "r",
  "make",
]);
const SLASH = /\/\/[^\n]*|\/\*[\s\S]{0,5000}?\*\//;
const STRING = /"(?:\\.|[^"\\\n]){0,5000}"|'(?:\\.|[^'\\\n]){0,5000}'|`(?:\\.|[^`\\]){0,5000}`/;
const NUMBER = /\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b/;
const NAME = /[A-Za-z_$][\w$]*/;
const LONGEST = 50_000;

/** Code as nodes; what is too long to be read anyway stays plain. */
export function coloured(code, language = "") {
  if (code.length > LONGEST) return [code];
  const hash = HASH.has(language.toLowerCase());
  const comment = hash ? /#[^\n]*/ : language.toLowerCase() === "sql" ? /--[^\n]*/ : SLASH;
  const pattern = new RegExp(
    `(${comment.source})|(${STRING.source})|(${NUMBER.source})|(${NAME.source})`,
    "g",
  );
  const found = [];
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    const kind = match[1]
      ? "comment"
      : match[2]
        ? "string"
        : match[3]
          ? "number"
          : WORDS.has(match[4].toLowerCase())
            ? "word"
            : "";
    if (!kind) continue;
    if (match.index > at) found.push(code.slice(at, match.index));
    found.push(h("span", { class: `of-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  found.push(code.slice(at));
  return found;
}
