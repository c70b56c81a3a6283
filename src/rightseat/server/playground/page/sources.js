// Sources of an answer: a number in the text leads to its source, and a source to its number. Hover and focus mark
// both.

import { h } from "./dom.js";
import { safeAddress } from "./rules.js";
import { learn } from "./words.js";

learn("en", { source: "Source" });
learn("zh", { source: "来源" });

const PERSON = ".mine, .message.user";
const cards = new Set();

/** Where an answer has it from. */
export class CitationsCard {
  constructor(item, { words }) {
    this.words = words;
    this.items = item.items ?? [];
    this.list = h("div", { class: "srcs" });
    const title = h("div", { class: "over" }, words.sources);
    this.element = h("section", { class: "citations", "aria-label": words.sources }, title, this.list);
    cards.add(this);
  }

  update() {
    if (this.sources) return;
    const others = listCards(answerOf(this.element)).filter((card) => card !== this);
    const before = others.reduce((count, card) => count + (card.sources?.length ?? 0), 0);
    this.sources = this.items.map((one, at) => makeSource(one, before + at + 1));
    this.list.append(...this.sources.map(({ element }) => element));
    for (const part of answerOf(this.element)) markSources(part);
  }
}

function makeSource(item, number) {
  const info = item.source_info ?? item;
  const href = safeAddress(info.url ?? info.metadata?.url ?? "about:blank");
  const name = info.name ?? info.title ?? href ?? "";
  const told = info.description ?? item.text ?? (href ? href.replace(/^\w+:\/+/, "") : "");
  const inner = [
    h("span", { class: "cite", "aria-hidden": "true" }, String(number)),
    h(
      "span",
      { class: "grow" },
      h("b", { class: "cut", title: name }, name),
      h("small", { class: "cut" }, told),
    ),
  ];
  const follow = { class: "src", href, target: "_blank", rel: "noopener noreferrer nofollow" };
  const element = href ? h("a", follow, inner) : h("button", { type: "button", class: "src" }, inner);
  const source = { number, name, element, refs: new Set() };
  watch(element, source);
  if (!href)
    element.addEventListener("click", () => [...source.refs].find((one) => one.isConnected)?.focus());
  return source;
}

/** The elements of the answer that an element of the conversation belongs to: all between two messages of a person. */
function answerOf(element) {
  const own = element.closest(".talk > *");
  if (!own) return [];
  const parts = [own];
  for (let one = own.previousElementSibling; one && !one.matches(PERSON); one = one.previousElementSibling)
    parts.unshift(one);
  for (let one = own.nextElementSibling; one && !one.matches(PERSON); one = one.nextElementSibling)
    parts.push(one);
  return parts;
}

function listCards(parts) {
  for (const card of cards) if (card.sources && !card.element.isConnected) cards.delete(card);
  return [...cards].filter((card) => parts.includes(card.element));
}

/** Makes the numbers in a text lead to their sources, where the answer has sources with these numbers. */
export function markSources(element) {
  const found = element.querySelectorAll(".ref");
  if (!found.length || !cards.size) return;
  const known = listCards(answerOf(element));
  const sources = known.flatMap((card) => card.sources ?? []);
  for (const one of found) {
    const source = sources.find(({ number }) => number === Number(one.dataset.number));
    if (source) one.replaceWith(makeNumber(source, known[0].words));
  }
}

function makeNumber(source, words) {
  const go = () => {
    source.element.scrollIntoView({ block: "nearest" });
    source.element.focus();
  };
  const label = `${words.source} ${source.number}: ${source.name}`;
  const props = { type: "button", class: "cite", "aria-label": label, title: source.name, onclick: go };
  const element = h("button", props, String(source.number));
  source.refs.add(element);
  watch(element, source);
  return element;
}

/** Marks a source and its numbers while one of them has the pointer or the focus. */
function watch(element, source) {
  const mark = (on) => {
    for (const one of [source.element, ...source.refs]) one.classList.toggle("marked", on);
  };
  for (const type of ["mouseenter", "focus"]) element.addEventListener(type, () => mark(true));
  for (const type of ["mouseleave", "blur"]) element.addEventListener(type, () => mark(false));
}
