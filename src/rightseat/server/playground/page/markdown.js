// Markdown → elements, by markdown-it, DOMPurify, highlight.js and KaTeX. HTML in a text stays text, and nothing in
// an answer makes the browser ask a stranger for anything. Without the libraries a text is plain.

import { copied, download, h, put } from "./dom.js";
import { icon } from "./icons.js";
import { fetchLibrary, library } from "./libraries.js";
import { isOwnPicture, makeParser, safeAddress } from "./rules.js";
import { markSources } from "./sources.js";
import { language, languages, learn } from "./words.js";

learn("en", { code: "Code", tableName: "Table", taskDone: "Done", taskOpen: "Open" });
learn("zh", { code: "代码", tableName: "表格", taskDone: "已完成", taskOpen: "未完成" });

// More than anyone reads in one go: a browser takes seconds to lay it out.
const LONGEST = 120_000;
const CLEAN = {
  USE_PROFILES: { html: true, mathMl: true },
  ADD_TAGS: ["semantics", "annotation"],
  FORBID_TAGS: ["style", "form", "input", "button", "select", "textarea", "video", "audio", "dialog"],
  FORBID_ATTR: ["style", "id", "name"],
  RETURN_DOM_FRAGMENT: true,
};
const words = () => languages[language()];
let parser = null;

const ready = Promise.all([fetchLibrary("markdown-it"), fetchLibrary("purify")]).then(
  ([MarkdownIt, purify]) => {
    if (MarkdownIt && purify) parser = makeParser(MarkdownIt);
    return parser !== null;
  },
);

/** Only what a person can safely follow is a link; anything else stays what was written. */
export function link(target, label, written) {
  const href = safeAddress(target);
  return href === null ? written : h("a", { ...FOLLOW, href }, label);
}

const FOLLOW = { target: "_blank", rel: "noopener noreferrer nofollow" };

/** Elements of a block's HTML: cleaned, and with what only code can give them. */
function clean(html) {
  const fragment = library("purify").sanitize(html, CLEAN);
  for (const one of fragment.querySelectorAll("a")) {
    const href = safeAddress(one.getAttribute("href") ?? "");
    one.replaceWith(href === null ? one.textContent : h("a", { ...FOLLOW, href }, ...one.childNodes));
  }
  for (const one of fragment.querySelectorAll("img")) if (!isOwnPicture(one.src)) one.remove();
  for (const one of fragment.querySelectorAll(".scroll")) {
    one.setAttribute("role", "group");
    one.setAttribute("aria-label", words().tableName);
  }
  for (const one of fragment.querySelectorAll(".math.block")) one.setAttribute("tabindex", "0");
  for (const one of fragment.querySelectorAll(".tick")) {
    const done = one.classList.contains("on");
    one.setAttribute("role", "img");
    one.setAttribute("aria-label", done ? words().taskDone : words().taskOpen);
    if (done) one.append(icon("check", "xs"));
  }
  for (const one of fragment.querySelectorAll(".code")) {
    const label = one.dataset.language || words().code;
    const head = h(
      "div",
      { class: "head" },
      h("span", { class: "cut" }, label),
      h("span", { class: "grow" }),
    );
    head.append(copyButton(() => one.querySelector("pre").textContent));
    one.querySelector("pre").setAttribute("aria-label", label);
    one.querySelector("pre").setAttribute("role", "group");
    one.prepend(head);
  }
  return fragment.children;
}

/** Copies a text and says so for a moment. */
export function copyButton(text) {
  const label = h("span", { role: "status" }, words().copy);
  const sign = h("span", { class: "row" }, icon("copy", "xs"));
  const copy = async () => {
    const done = await copied(text());
    label.textContent = done ? words().copied : words().notCopied;
    put(sign, icon(done ? "check" : "x", "xs"));
    setTimeout(() => {
      label.textContent = words().copy;
      put(sign, icon("copy", "xs"));
    }, 1500);
  };
  return h("button", { type: "button", class: "btn quiet sm", onclick: copy }, sign, label);
}

/** What blocks need beyond the parser, while it is on its way. */
function listMissing(tokens) {
  const needs = (token) =>
    token.type === "math" ? "katex" : token.type === "fence" && token.info.trim() ? "highlight" : null;
  const all = tokens.flatMap((token) => [token, ...(token.children ?? [])]);
  return [...new Set(all.map(needs))].filter((name) => name && library(name) === undefined);
}

/** Tokens by the block of the text that they belong to. */
function groupBlocks(tokens) {
  const groups = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) groups.push({ line: token.map[0], tokens: [] });
    groups.at(-1).tokens.push(token);
  }
  return groups;
}

/** Text that grows: what is closed stays, and only the last open block is parsed again. */
export class Prose {
  constructor() {
    this.element = h("div", { class: "prose" });
    this.wanted = new Set();
    this.forget();
  }

  forget() {
    this.text = null;
    this.closed = 0;
    this.kept = 0;
    this.env = {};
    this.references = 0;
  }

  show(text) {
    this.given = text;
    const shown = (text.length > LONGEST ? text.slice(0, LONGEST) : text).replace(/\r\n?/g, "\n");
    if (shown !== this.text) {
      if (parser) this.draw(shown);
      else this.drawPlain(shown);
      this.text = shown;
    }
    if (text.length > LONGEST) this.cut(text);
  }

  /** The same text again, now that a library is here. */
  again() {
    const text = this.given;
    this.forget();
    put(this.element);
    this.show(text);
  }

  fetch(name) {
    if (this.wanted.has(name)) return;
    this.wanted.add(name);
    fetchLibrary(name).then((found) => found && this.again());
  }

  drawPlain(text) {
    put(this.element, h("p", { class: "plain" }, text));
    if (!this.waits) ready.then((found) => found && this.again());
    this.waits = true;
  }

  draw(text) {
    if (this.text === null || !text.startsWith(this.text.slice(0, this.closed))) this.forget();
    const tail = text.slice(this.closed);
    const tokens = parser.parse(tail, this.env);
    const references = Object.keys(this.env.references ?? {}).length;
    if (references > this.references && this.closed) {
      // An address that was named in an earlier block.
      Object.assign(this, { closed: 0, kept: 0, references });
      return this.draw(text);
    }
    this.references = references;
    while (this.element.childNodes.length > this.kept) this.element.lastChild.remove();
    const groups = groupBlocks(tokens);
    for (const group of groups) {
      this.kept = this.element.childNodes.length;
      this.element.append(...clean(parser.renderer.render(group.tokens, parser.options, this.env)));
    }
    this.closed += offsetOf(tail, groups.at(-1)?.line ?? 0);
    for (const name of listMissing(tokens)) this.fetch(name);
    markSources(this.element);
    return undefined;
  }

  /** The rest of a very long text is there to be saved, and not drawn. */
  cut(text) {
    this.element.querySelector(".rest")?.remove();
    const save = () => download("answer.md", text, "text/markdown");
    const size = `${Math.ceil(text.length / 1000)} K`;
    const button = h("button", { type: "button", class: "btn sm", onclick: save }, icon("down2", "xs"), size);
    this.element.append(h("p", { class: "rest dim" }, "… ", button));
  }
}

function offsetOf(text, line) {
  let at = 0;
  for (let number = 0; number < line; number += 1) at = text.indexOf("\n", at) + 1;
  return at;
}
