// Markdown → elements. No HTML is ever parsed: tags in a text stay text. Links lead only to http(s) and mail,
// and images are links, so that nothing in an answer makes the browser ask a stranger for anything.

import { download, h } from "./dom.js";
import { coloured } from "./highlight.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const ROW = /^\s*\|.*\|\s*$/;
const DIVIDER = /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/;

/** A text in blocks, each a run of lines that stand for one element. */
function blocks(text) {
  const found = [];
  const lines = text.split("\n");
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const from = at;
    at = end(lines, at);
    found.push(lines.slice(from, at));
  }
  return found;
}

function end(lines, from) {
  const fence = FENCE.exec(lines[from]);
  let at = from + 1;
  if (fence) {
    while (at < lines.length && !lines[at].trimStart().startsWith(fence[1])) at += 1;
    return Math.min(at + 1, lines.length);
  }
  if (HEADING.test(lines[from]) || RULE.test(lines[from])) return at;
  const kind = kindOf(lines[from]);
  while (at < lines.length && lines[at].trim() && !FENCE.test(lines[at]) && !HEADING.test(lines[at])) {
    if (kind === "text" && kindOf(lines[at]) !== "text") break;
    if (kind === "table" && !ROW.test(lines[at])) break;
    at += 1;
  }
  return at;
}

function kindOf(line) {
  if (QUOTE.test(line)) return "quote";
  if (ITEM.test(line)) return "list";
  if (ROW.test(line)) return "table";
  return "text";
}

/** One block as an element. */
function block(lines) {
  const fence = FENCE.exec(lines[0]);
  if (fence) {
    const closed = lines.length > 1 && lines[lines.length - 1].trimStart().startsWith(fence[1]);
    const code = lines.slice(1, closed ? -1 : undefined).join("\n");
    return h(
      "pre",
      { class: "code", tabindex: "0", dataset: { language: fence[2] } },
      h("code", {}, coloured(code, fence[2])),
    );
  }
  const heading = HEADING.exec(lines[0]);
  // The page has headings of its own: an answer's begin below them.
  if (heading) return h(`h${Math.min(heading[1].length + 2, 6)}`, {}, inline(heading[2]));
  if (RULE.test(lines[0])) return h("hr");
  const kind = kindOf(lines[0]);
  if (kind === "quote") {
    const inner = lines.map((line) => QUOTE.exec(line)?.[1] ?? line).join("\n");
    return h("blockquote", {}, blocks(inner).map(block));
  }
  if (kind === "list") return list(lines);
  if (kind === "table" && lines.length > 1 && DIVIDER.test(lines[1])) return table(lines);
  return h(
    "p",
    {},
    lines.flatMap((line, number) => [
      number ? (lines[number - 1].endsWith("  ") ? h("br") : " ") : null,
      inline(line.trim()),
    ]),
  );
}

function list(lines) {
  const first = ITEM.exec(lines[0]);
  const depth = first[1].length;
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= depth + 1) items.push({ text: item[3], rest: [] });
    else
      items[items.length - 1].rest.push(
        line.slice(Math.min(depth + 2, line.length - line.trimStart().length)),
      );
  }
  const tag = /\d/.test(first[2]) ? "ol" : "ul";
  const start =
    tag === "ol" && Number.parseInt(first[2], 10) !== 1 ? { start: Number.parseInt(first[2], 10) } : {};
  return h(
    tag,
    start,
    items.map(({ text, rest }) =>
      h("li", {}, inline(text), rest.length ? blocks(rest.join("\n")).map(block) : null),
    ),
  );
}

function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  const line = (row, tag) =>
    h(
      "tr",
      {},
      head.map((_, number) => h(tag, {}, inline(row[number] ?? ""))),
    );
  return h(
    "div",
    { class: "scroll", tabindex: "0" },
    h(
      "table",
      {},
      h("thead", {}, line(head, "th")),
      h(
        "tbody",
        {},
        rows.map((row) => line(row, "td")),
      ),
    ),
  );
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

// Bounded, so that no text makes one of them slow: a word of an answer is not a megabyte long.
const MARKS = new RegExp(
  [
    /(`{1,3})([^`]{1,2000}?)\1(?!`)/, // `code`
    /\*\*([^*\n]{1,2000}?)\*\*/, // **bold**
    /__([^_\n]{1,2000}?)__/,
    /\*([^*\s][^*\n]{0,2000}?)\*/, // *slanted*
    /(?<![\w])_([^_\s][^_\n]{0,2000}?)_(?![\w])/,
    /~~([^~\n]{1,2000}?)~~/, // ~~gone~~
    /!?\[([^\]\n]{0,500})\]\(\s*<?([^\s)>]{1,2000})>?(?:\s+"[^"\n]{0,500}")?\s*\)/, // [label](target "title")
    /(https?:\/\/[^\s<>"'）。，]{1,2000})/, // an address as it is
    /\\([\\`*_{}[\]()#+.!|~>-])/, // \*
  ]
    .map((one) => one.source)
    .join("|"),
  "g",
);

/** The words of a line, with what is marked in them. */
function inline(text) {
  if (text.length > 100_000) return [text];
  const found = [];
  let at = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > at) found.push(text.slice(at, match.index));
    found.push(marked(match));
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

function marked([all, , code, bold, bold2, slant, slant2, gone, label, target, bare, escaped]) {
  if (code !== undefined) return h("code", {}, code.trim() || code);
  if (bold ?? bold2) return h("strong", {}, inline(bold ?? bold2));
  if (slant ?? slant2) return h("em", {}, inline(slant ?? slant2));
  if (gone !== undefined) return h("del", {}, inline(gone));
  if (target !== undefined) return link(target, label || target, all);
  if (bare !== undefined) {
    const tail = /[.,;:!?)\]]*$/.exec(bare)[0];
    const url = tail ? bare.slice(0, -tail.length) : bare;
    return [link(url, url, url), tail];
  }
  return escaped;
}

/** Only what a person can safely follow is a link; anything else stays what was written. */
export function link(target, label, written) {
  let url;
  try {
    url = new URL(target, document.baseURI);
  } catch {
    return written;
  }
  const ours = url.origin === location.origin && url.pathname.includes("/files/");
  if (!ours && !["http:", "https:", "mailto:"].includes(url.protocol)) return written;
  return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, label);
}

// More than anyone reads in one go: a browser takes seconds to lay it out.
const LONGEST = 120_000;

/** Text that grows: only its last block is made anew. */
export class Prose {
  constructor() {
    this.element = h("div", { class: "prose" });
    this.shown = [];
  }

  show(text) {
    const long = text.length > LONGEST;
    const made = blocks(long ? text.slice(0, LONGEST) : text);
    made.forEach((lines, number) => {
      const source = lines.join("\n");
      if (this.shown[number] === source) return;
      const element = block(lines);
      const before = this.element.children[number];
      if (before) before.replaceWith(element);
      else this.element.append(element);
      this.shown[number] = source;
    });
    while (this.element.children.length > made.length) this.element.lastChild.remove();
    this.shown.length = made.length;
    if (long) this.cut(text);
  }

  /** The rest of a very long text is there to be saved, and not drawn. */
  cut(text) {
    this.element.querySelector(".rest")?.remove();
    const save = () => download("answer.md", text, "text/markdown");
    const size = `${Math.ceil(text.length / 1000)} K`;
    this.element.append(
      h("p", { class: "rest dim" }, "… ", h("button", { type: "button", onclick: save }, `↓ ${size}`)),
    );
  }
}
