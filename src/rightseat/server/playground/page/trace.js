// The conversation in time: a tree of runs, rounds and spans with bars, and the one that is selected beside it.

import { h, put } from "./dom.js";
import { cost, seconds, tokens } from "./format.js";
import { icon } from "./icons.js";
import { detail } from "./span.js";
import { flat, rowOf, spans } from "./spans.js";

export const LOOKS = {
  run: "run",
  round: "run",
  model: "model",
  tool: "tool",
  step: "step",
  agent: "tool",
  human: "human",
};
const SHOWN_KINDS = { model: "kindModel", tool: "kindTool", step: "kindStep", human: "kindHuman" };
const HUMAN_WIDTH = 9;

export class Trace {
  constructor(app, inspector) {
    const { words } = app;
    this.app = app;
    this.inspector = inspector;
    this.folded = new Set();
    this.made = new Map();
    const find = { class: "input", "aria-label": words.findSpan, placeholder: words.findSpan };
    this.search = h("input", { ...find, type: "search", oninput: () => this.show(app.talk) });
    const key = ([kind, word]) => h("span", { class: `row k-${kind}` }, h("i", { class: "kd" }), words[word]);
    this.fold = h("button", { type: "button", class: "btn quiet sm desk", onclick: () => this.foldAll() });
    const tools = h(
      "div",
      { class: "tools" },
      h("div", { class: "search find" }, icon("search", "s"), this.search),
      h("span", { class: "row tiny mid desk keys" }, Object.entries(SHOWN_KINDS).map(key)),
      h("span", { class: "grow" }),
      this.fold,
    );
    const grid = { class: "trace", role: "treegrid", "aria-label": words.trace };
    this.grid = h("div", { ...grid, onkeydown: (event) => this.key(event) }, head(words));
    this.none = h("p", { class: "pad dim", hidden: true }, words.noSpan);
    this.scroller = h("div", { class: "scroller" }, this.grid, this.none);
    this.side = h("aside", { class: "detail", "aria-label": words.selectedSpan, hidden: true });
    this.element = h("div", { class: "panel" }, tools, h("div", { class: "body" }, this.scroller, this.side));
  }

  show(talk) {
    const { words, about } = this.app;
    this.tree = spans(talk, words, Date.now(), about.model?.name ?? "");
    const wanted = this.search.value.trim().toLowerCase();
    this.rows = wanted ? matching(this.tree, wanted) : this.open(this.tree);
    if (!flat(this.tree).some(({ id }) => id === this.inspector.selected)) this.inspector.selected = null;
    // One row is in the order of the Tab key: the selected one, else the first.
    this.stop = this.rows.some(({ id }) => id === this.inspector.selected)
      ? this.inspector.selected
      : this.rows[0]?.id;
    this.draw();
    this.detail();
    const all = flat(this.tree).filter(({ children }) => children?.length);
    this.allFolded = all.length > 0 && all.every(({ id, kind }) => kind !== "run" || this.folded.has(id));
    this.fold.textContent = this.allFolded ? words.unfoldAll : words.foldAll;
    this.none.hidden = !wanted || this.rows.length > 0;
  }

  /** The rows that no folded one hides, each with its depth, its parent and the run on whose axis it lies. */
  open(rows, depth = 0, up = null, axis = null) {
    return rows.flatMap((row) => {
      const placed = Object.assign(row, { depth, up, axis: axis ?? row });
      const inner = this.folded.has(row.id)
        ? []
        : this.open(row.children ?? [], depth + 1, placed, placed.axis);
      return [placed, ...inner];
    });
  }

  draw() {
    const focused = this.grid.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    const elements = this.rows.map((row) => this.element_(row));
    const before = [...this.grid.children].slice(1);
    if (elements.length !== before.length || elements.some((one, number) => one !== before[number])) {
      this.grid.replaceChildren(this.grid.firstChild, ...elements);
    }
    if (focused && document.activeElement?.dataset?.row !== focused) this.focus(focused);
  }

  /** A row that has not changed keeps its element. */
  element_(row) {
    const selected = row.id === this.inspector.selected;
    const facts = [
      row.name,
      row.depth,
      row.from,
      row.to,
      row.first,
      row.took,
      row.axis.to,
      row.failed,
      row.running,
    ];
    const sign = JSON.stringify([
      ...facts,
      row.usage,
      selected,
      row.id === this.stop,
      this.folded.has(row.id),
    ]);
    const known = this.made.get(row.id);
    if (known?.sign === sign) return known.element;
    const element = this.row(row, selected);
    this.made.set(row.id, { sign, element });
    return element;
  }

  row(row, selected) {
    const { words } = this.app;
    const inner = row.children?.length > 0;
    const look = row.failed ? "bad" : LOOKS[row.kind];
    const kind = { run: " runrow", round: " round" }[row.kind] ?? "";
    const props = {
      class: `tr k-${look}${kind}${selected ? " on" : ""}`,
      role: "row",
      tabindex: row.id === this.stop ? "0" : "-1",
      dataset: { row: row.id, kind: row.kind },
      "aria-level": String(row.depth + 1),
      "aria-selected": String(selected),
      "aria-expanded": inner ? String(!this.folded.has(row.id)) : null,
      onclick: () => this.select(row.id),
    };
    const sign = inner ? this.chevron(row) : h("span", { class: "kd" });
    const agent = row.kind === "run" && row.agent && row.agent !== this.app.about.assistants[0]?.name;
    const name = h(
      "div",
      { class: "n", role: "gridcell" },
      sign,
      h("span", { class: "nm", title: row.name }, row.name),
      agent ? h("span", { class: "chip sq step" }, row.agent) : null,
      row.failed ? h("span", { class: "chip sq bad" }, words.failed) : null,
      row.running ? h("span", { class: "spin" }) : null,
    );
    name.style.setProperty("--d", row.depth);
    const took = row.kind === "human" ? row.took : row.to - row.from;
    const time = row.untimed || row.waits ? "–" : seconds(took);
    return h(
      "div",
      props,
      name,
      h("div", { class: "wf", role: "gridcell" }, row.untimed ? null : bars(row)),
      h("div", { class: `r took${row.kind === "human" ? " warn" : ""}`, role: "gridcell" }, time),
      h("div", { class: "r tok", role: "gridcell" }, tokens(row.usage)),
      h("div", { class: "r cost", role: "gridcell" }, cost(row.usage)),
    );
  }

  chevron(row) {
    const turn = (event) => {
      event.stopPropagation();
      this.turn(row.id, this.folded.has(row.id));
    };
    const sign = icon(this.folded.has(row.id) ? "right" : "down", "xs chev");
    return h("span", { class: "fold", "aria-hidden": "true", onclick: turn }, sign);
  }

  turn(id, open) {
    if (open) this.folded.delete(id);
    else this.folded.add(id);
    this.show(this.app.talk);
  }

  foldAll() {
    const all = flat(this.tree).filter(({ children }) => children?.length);
    for (const { id } of all) this.folded[this.allFolded ? "delete" : "add"](id);
    this.show(this.app.talk);
  }

  /** Selects a row. The chat marks what it shows of it. */
  select(id, focus = true) {
    this.inspector.selected = id;
    this.show(this.app.talk);
    this.inspector.mark();
    if (focus) this.focus(id);
  }

  focus(id) {
    const row = this.made.get(id)?.element;
    row?.focus({ preventScroll: true });
    // On a phone the details lie over the lower half.
    row?.scrollIntoView({ block: matchMedia("(max-width: 760px)").matches ? "start" : "nearest" });
  }

  /** Opens what hides the row of something in the chat, and selects it. */
  reveal(item) {
    this.search.value = "";
    this.show(this.app.talk);
    const row = rowOf(this.tree, item);
    if (!row) return;
    this.folded.clear();
    this.select(row.id);
  }

  get current() {
    return this.tree ? flat(this.tree).find(({ id }) => id === this.inspector.selected) : null;
  }

  detail() {
    const row = this.current;
    this.side.hidden = !row;
    if (!row) this.shown = null;
    if (!row) return;
    const known = JSON.stringify([
      row.id,
      row.to,
      row.took,
      row.running,
      row.usage,
      this.app.talk.log.length,
    ]);
    if (known === this.shown) return;
    this.shown = known;
    put(this.side, detail(row, this));
  }

  step(by) {
    const at = this.rows.findIndex(({ id }) => id === this.inspector.selected);
    const next = this.rows[Math.min(Math.max(at + by, 0), this.rows.length - 1)];
    if (next) this.select(next.id, this.grid.contains(document.activeElement));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const id = document.activeElement?.dataset?.row;
    const at = this.rows.findIndex((row) => row.id === id);
    if (at < 0) return;
    const go = (number) => this.rows[number] && this.select(this.rows[number].id);
    const row = this.rows[at];
    const open = row.children?.length > 0 && !this.folded.has(id);
    const keys = {
      ArrowDown: () => go(at + 1),
      j: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      k: () => go(at - 1),
      Home: () => go(0),
      End: () => go(this.rows.length - 1),
      ArrowRight: () => (open ? go(at + 1) : row.children?.length && this.turn(id, true)),
      ArrowLeft: () => (open ? this.turn(id, false) : row.up && this.select(row.up.id)),
      Enter: () => this.select(id),
      " ": () => this.select(id),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

function head(words) {
  const cell = (look, ...inner) => h("div", { class: look, role: "columnheader" }, inner);
  return h(
    "div",
    { class: "tr hd", role: "row" },
    cell("n", words.spanColumn),
    cell(
      "wf",
      h("span", {}, "0"),
      h("span", { class: "desk" }, words.endOfRun),
      h("span", { class: "phone" }, words.axisEnd),
    ),
    cell("r", words.timeColumn),
    cell("r tok", words.tokensColumn),
    cell("r cost", words.costColumn),
  );
}

/** A run's bar is the whole axis; the pale part of a model's is until its first word. */
function bars(row) {
  const whole = Math.max(row.axis.to - row.axis.from, 1);
  const bar = (look, from, to) => {
    const element = h("i", { class: look });
    const left = Math.min(((from - row.axis.from) * 100) / whole, 99);
    element.style.setProperty("--l", left.toFixed(2));
    element.style.setProperty("--w", Math.min(((to - from) * 100) / whole, 100 - left).toFixed(2));
    return element;
  };
  if (row.kind === "run" || row.kind === "round")
    return bar(row.kind === "run" && row.running ? "sum live" : "sum", row.from, row.to);
  if (row.kind === "human") return bar("hum", row.from, row.from + (whole * HUMAN_WIDTH) / 100);
  if (row.kind !== "model" || row.first === undefined) return bar("", row.from, row.to);
  return [bar("first", row.from, row.first), bar("rest", row.first, row.to)];
}

/** The rows whose name has the words, below the run that they are in. */
function matching(tree, wanted) {
  return tree.flatMap((run) => {
    const place = (row) =>
      Object.assign(row, { depth: row === run ? 0 : 1, up: row === run ? null : run, axis: run });
    const found = flat([run]).filter((row) => row !== run && row.name.toLowerCase().includes(wanted));
    if (!found.length && !run.name.toLowerCase().includes(wanted)) return [];
    return [run, ...found].map(place);
  });
}
