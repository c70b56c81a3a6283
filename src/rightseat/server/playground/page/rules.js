// Our rules for markdown-it: maths, task lists, numbers of sources, tables without inline styles, safe pictures.

import { highlighted } from "./highlight.js";
import { library } from "./libraries.js";

const MATH_OPTIONS = { output: "mathml", strict: "ignore", trust: false, maxSize: 20, maxExpand: 200 };
const PICTURE = /^data:image\/(?:png|gif|jpe?g|webp);/i;
const FOLLOWED = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that a person can safely follow; null for any other. */
export function safeAddress(target) {
  try {
    const url = new URL(target, document.baseURI);
    return FOLLOWED.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Whether a picture loads nothing from elsewhere. */
export function isOwnPicture(source) {
  if (PICTURE.test(source)) return true;
  const address = safeAddress(source);
  return address !== null && new URL(address).origin === location.origin;
}

export function makeParser(MarkdownIt) {
  const parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
  // A name such as main.py is no address.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  parser.validateLink = (target) => PICTURE.test(target) || safeAddress(target) !== null;
  parser.inline.ruler.before("escape", "math", inlineMath);
  parser.block.ruler.before("fence", "math", blockMath, {
    alt: ["paragraph", "reference", "blockquote", "list"],
  });
  parser.core.ruler.push("tasks", markTasks);
  parser.core.ruler.push("sources", markNumbers);
  Object.assign(parser.renderer.rules, makeRenderers(parser.utils.escapeHtml));
  return parser;
}

/** $…$ and $$…$$ as Pandoc reads them, \(…\) and \[…\]. */
function inlineMath(state, silent) {
  const text = state.src.slice(state.pos, state.pos + 4000);
  const found =
    /^\$\$([^$]+)\$\$/.exec(text) ??
    /^\$(?![\s$])([^$\n]*[^\s$\\])\$(?!\d)/.exec(text) ??
    /^\\\(([\s\S]+?)\\\)/.exec(text) ??
    /^\\\[([\s\S]+?)\\\]/.exec(text);
  if (!found) return false;
  if (!silent) {
    const token = state.push("math", "", 0);
    token.content = found[1];
    token.meta = { block: found[0].startsWith("$$") || found[0].startsWith("\\[") };
  }
  state.pos += found[0].length;
  return true;
}

const CLOSERS = { $$: "$$", "\\[": "\\]" };

/** A formula on lines of its own. One that is still coming is a formula already. */
function blockMath(state, start, end, silent) {
  const line = (number) => state.src.slice(state.bMarks[number] + state.tShift[number], state.eMarks[number]);
  const first = line(start).trimEnd();
  const closer = CLOSERS[first.slice(0, 2)];
  if (!closer) return false;
  const within = first.slice(2).indexOf(closer);
  // Words after it: a formula within a paragraph.
  if (within >= 0 && within !== first.length - 4) return false;
  if (silent) return true;
  let at = start;
  if (within < 0) for (at += 1; at < end && !line(at).trimEnd().endsWith(closer); at += 1);
  const last = Math.min(at, end - 1);
  const lines = Array.from({ length: last - start + 1 }, (_, number) => line(start + number)).join("\n");
  const token = state.push("math", "", 0);
  token.block = true;
  token.content = lines.trimEnd().slice(2, at < end ? -2 : undefined);
  token.meta = { block: true };
  token.map = [start, last + 1];
  state.line = last + 1;
  return true;
}

const NUMBER = /\[(\d{1,2})\]|【(\d{1,2})[^】\n]{0,40}】/g;

/** [1] and 【1】: the number of a source, where the answer has sources. A link has been read before. */
function markNumbers(state) {
  for (const token of state.tokens) {
    if (token.type !== "inline" || !/[[【]\d/.test(token.content)) continue;
    let depth = 0;
    token.children = token.children.flatMap((part) => {
      depth += part.type === "link_open" ? 1 : part.type === "link_close" ? -1 : 0;
      return part.type === "text" && !depth ? splitNumbers(part, state.Token) : [part];
    });
  }
}

function splitNumbers(part, Token) {
  const pieces = [];
  const push = (type, content, meta = null) =>
    pieces.push(Object.assign(new Token(type, "", 0), { content, meta, level: part.level }));
  let at = 0;
  for (const found of part.content.matchAll(NUMBER)) {
    if (found.index > at) push("text", part.content.slice(at, found.index));
    push("source", found[0], { number: found[1] ?? found[2] });
    at = found.index + found[0].length;
  }
  if (!at) return [part];
  if (at < part.content.length) push("text", part.content.slice(at));
  return pieces;
}

/** - [x] done: a sign instead of brackets. */
function markTasks(state) {
  state.tokens.forEach((token, at) => {
    const [text] = token.type === "inline" ? token.children : [];
    const item = state.tokens[at - 2];
    const found =
      text?.type === "text" && item?.type === "list_item_open" && /^\[([ xX])\]\s+/.exec(text.content);
    if (!found) return;
    item.attrJoin("class", "task");
    text.content = text.content.slice(found[0].length);
    const tick = new state.Token("tick", "", 0);
    tick.meta = { done: found[1] !== " " };
    token.children.unshift(tick);
  });
}

function makeRenderers(escape) {
  const cell = (tokens, at, options, env, self) => {
    const token = tokens[at];
    const side = /text-align:(\w+)/.exec(token.attrGet("style") ?? "")?.[1];
    token.attrs = side && side !== "left" ? [["class", side === "right" ? "r" : "c"]] : [];
    return self.renderToken(tokens, at, options);
  };
  const heading = (tokens, at, options, env, self) => {
    // The page has headings of its own: an answer's begin below them.
    const token = tokens[at];
    token.tag = `h${Math.min(Number(token.markup === "=" ? 1 : token.markup === "-" ? 2 : token.markup.length) + 2, 6)}`;
    return self.renderToken(tokens, at, options);
  };
  const code = (tokens, at) => {
    const language = tokens[at].info.trim().split(/\s+/)[0].toLowerCase();
    const { html, name } = highlighted(tokens[at].content, language);
    const inner = html ?? escape(tokens[at].content);
    return `<div class="code" data-language="${escape(name)}"><pre tabindex="0"><code>${inner}</code></pre></div>`;
  };
  return {
    fence: code,
    code_block: code,
    heading_open: heading,
    heading_close: heading,
    th_open: cell,
    td_open: cell,
    table_open: () => '<div class="scroll" tabindex="0"><table class="tbl">',
    table_close: () => "</table></div>",
    math: (tokens, at) => formula(tokens[at], escape),
    tick: (tokens, at) => `<span class="tick${tokens[at].meta.done ? " on" : ""}"></span>`,
    source: (tokens, at) =>
      `<span class="ref" data-number="${tokens[at].meta.number}">${escape(tokens[at].content)}</span>`,
    image: (tokens, at, options, env, self) => {
      const [source, title] = [tokens[at].attrGet("src") ?? "", tokens[at].attrGet("title") ?? ""];
      const words = self.renderInlineAsText(tokens[at].children ?? [], options, env);
      if (!isOwnPicture(source)) return `<a href="${escape(source)}">${escape(words || source)}</a>`;
      return `<img src="${escape(source)}" alt="${escape(words)}" title="${escape(title)}">`;
    },
  };
}

/** Maths as MathML; what KaTeX cannot read, and all of it until KaTeX is here, as it was written. */
function formula({ content, meta }, escape) {
  const katex = library("katex");
  const tag = meta.block ? "div" : "span";
  const wrap = (inner) => `<${tag} class="math${meta.block ? " block" : ""}">${inner}</${tag}>`;
  if (!katex) return wrap(`<code>${escape(content)}</code>`);
  try {
    return wrap(
      katex.renderToString(content, { ...MATH_OPTIONS, displayMode: meta.block, throwOnError: true }),
    );
  } catch (error) {
    if (error instanceof katex.ParseError || error instanceof RangeError)
      return wrap(`<code>${escape(content)}</code>`);
    throw error;
  }
}
