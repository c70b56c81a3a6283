// A flow as a picture: its steps as buttons, the ways between them as lines below. dagre says where they stand.

import { h, put, s } from "./dom.js";
import { describeBox, shortPath } from "./flowrun.js";
import { translatePicture } from "./flowwords.js";
import { icon } from "./icons.js";
import { BASE } from "./server.js";
import { drawLine, findBackLines, listBands } from "./lines.js";

const SIGNS = {
  api: "cloud",
  ask: "user",
  choice: "branch",
  extract: "filter",
  flow: "flow",
  llm: "think",
  loop: "retry",
  none: "",
  parallel: "share",
  reformat: "edit",
  render: "chart",
  sql: "table",
};
const SPACE = { rankdir: "TB", nodesep: 18, edgesep: 14, ranksep: 36, marginx: 0, marginy: 0 };
const SHORT = 14;
const STATES = ["done", "running", "failed", "asking", "not", "cut"];
let library;

/** What lays graphs out; rejects where it is not installed. */
export const loadLayout = () => (library ??= import(`${BASE}/playground/vendor/dagre.js`));

export const sign = (kind) => SIGNS[kind] ?? "tool";

/** Text that may be broken after each underscore and slash. */
export function breakable(text) {
  const parts = text.split(/(?<=[_/])/);
  return parts.map((part, at) => (at ? [h("wbr"), part] : part));
}

export class FlowGraph {
  /** `choose(name)` is called with the step that somebody looks at. */
  constructor(flow, { words, language }, choose) {
    this.flow = flow;
    this.words = words;
    this.language = language;
    this.choose = choose;
    this.nodes = new Map(flow.boxes.map((box) => [box.name, this.node(describeBox(box))]));
    this.labels = flow.lines.map(({ label }) =>
      label ? edgeLabel(translatePicture(label, language)) : null,
    );
    this.svg = s("svg", { class: "flow", "aria-hidden": "true" });
    this.ways = [];
    this.element = h("div", { class: "world" }, this.svg, this.labels, [...this.nodes.values()]);
    this.width = 0;
    this.height = 0;
  }

  node({ name, kind, detail: written, shape }) {
    const detail = translatePicture(written, this.language);
    const state = h("span", { class: "sr" });
    const took = h("span", { class: "ms num" });
    const props = {
      type: "button",
      dataset: { step: name },
      title: [name, detail].filter(Boolean).join("\n"),
    };
    const look = shape === "end" && !detail ? "node pill" : `node ${shape}`;
    const told = detail || kind;
    const mono = /^[A-Z]+ \//.test(detail);
    const signed = SIGNS[kind] !== "" && kind ? icon(sign(kind), "xs dim") : null;
    const words = told
      ? h("span", { class: mono ? "d mono" : "d" }, mono ? breakable(shortPath(told)) : told)
      : null;
    // Beside a long name there is no room for the time.
    const short = name.length <= SHORT;
    const button = h(
      "button",
      { ...props, class: look, onclick: () => this.choose(name) },
      h("span", { class: "t" }, signed, h("span", { class: "name" }, breakable(name)), short ? took : null),
      h("span", { class: "low" }, words, short ? null : took),
      state,
    );
    return Object.assign(button, { state, took });
  }

  /** Measures what is in the document, and puts each thing into its place. */
  place({ Graph, layout }) {
    const { lines } = this.flow;
    const graph = new Graph({ multigraph: true }).setGraph({ ...SPACE });
    for (const [name, node] of this.nodes) graph.setNode(`n${name}`, size(node));
    // What a run writes into a step must not make it larger.
    for (const [name, node] of this.nodes) move(node, { height: graph.node(`n${name}`).height });
    this.labels.forEach((label, at) => label && graph.setNode(`l${at}`, size(label)));
    const back = findBackLines(this.flow);
    lines.forEach((line, at) => addLine(graph, line, at, { back: back.has(at), label: this.labels[at] }));
    layout(graph);
    if (isMirrored(graph, this.flow)) mirror(graph);
    const { width, height } = graph.graph();
    Object.assign(this, { width, height });
    move(this.element, { width, height });
    for (const [name, node] of this.nodes) moveTo(node, graph.node(`n${name}`));
    this.labels.forEach((label, at) => label && moveTo(label, graph.node(`l${at}`)));
    const bands = listBands(graph.nodes().map((id) => graph.node(id)));
    this.ways = lines.map((line, at) =>
      drawLine(graph, line, at, { back: back.has(at), label: this.labels[at], bands }),
    );
    this.spots = new Map([...this.nodes.keys()].map((name) => [name, graph.node(`n${name}`)]));
    // Who goes on by Tab goes as a run does.
    const order = [...this.nodes].sort(
      ([a], [b]) => this.spots.get(a).y - this.spots.get(b).y || this.spots.get(a).x - this.spots.get(b).x,
    );
    this.element.append(...order.map(([, node]) => node));
    for (const [name, value] of Object.entries({ width, height })) this.svg.setAttribute(name, value);
    put(this.svg, this.ways);
  }

  /** The same as a list, where nothing lays graphs out. */
  list() {
    const entry = ([name, node]) => {
      const out = this.flow.lines.filter((line) => line.source === name);
      const told = ({ target, label }) => h("li", {}, `→ ${target}${label ? ` (${label})` : ""}`);
      return h("li", {}, node, h("ul", { class: "ways" }, out.map(told)));
    };
    this.element = h("ol", { class: "plainsteps" }, [...this.nodes].map(entry));
    return this.element;
  }

  /** `states` by step, `times` by step, `taken` lines; `over`: what was not taken will not be any more. */
  mark({ states, times, taken, over, looked }) {
    for (const [name, node] of this.nodes) {
      const state = states.get(name) ?? (over ? "not" : "");
      STATES.forEach((one) => node.classList.toggle(one, one === state));
      node.classList.toggle("on", name === looked);
      node.dataset.state = state;
      node.state.textContent = state ? ` ${this.words[`step_${state}`]}` : "";
      node.took.textContent = times.get(name) ?? "";
    }
    this.labels.forEach((label, at) => label?.classList.toggle("went", taken.has(at)));
    this.ways.forEach((way, at) => {
      const kind = taken.has(at) ? "way went" : over || this.flow.lines[at].dotted ? "way no" : "way";
      if (way.getAttribute("class") !== kind) way.setAttribute("class", kind);
    });
    // Drawn last, the taken one is on top.
    this.svg.append(...this.ways.filter((_, at) => taken.has(at)));
  }

  /** The step that an arrow key leads to from `name`: along the lines, or beside it. */
  neighbour(name, key) {
    const { lines } = this.flow;
    const taken = (at) => this.ways[at]?.classList.contains("went");
    const along = (from, to) => {
      const found = lines.map((line, at) => [line, at]).filter(([line]) => line[from] === name);
      return (found.find(([, at]) => taken(at)) ?? found[0])?.[0][to];
    };
    if (key === "ArrowDown") return along("source", "target");
    if (key === "ArrowUp") return along("target", "source");
    const here = this.spots?.get(name);
    const side = key === "ArrowRight" ? 1 : -1;
    const beside = [...(this.spots ?? [])].filter(
      ([, spot]) => Math.abs(spot.y - here.y) < here.height && (spot.x - here.x) * side > 1,
    );
    return beside.sort(([, a], [, b]) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x))[0]?.[0];
  }
}

const edgeLabel = (text) => h("div", { class: "elab", title: text }, h("span", {}, text));

const size = (element) => ({ width: element.offsetWidth, height: element.offsetHeight });

function move(element, places) {
  for (const [name, value] of Object.entries(places)) element.style.setProperty(name, `${value}px`);
}

const moveTo = (element, { x, y, width, height }) =>
  move(element, { left: x - width / 2, top: y - height / 2 });

/** Whether branches stand from right to left: the first choice belongs on the left. */
function isMirrored(graph, { boxes, lines }) {
  const place = (name) => graph.node(`n${name}`).x;
  let wrong = 0;
  for (const { name } of boxes) {
    const targets = lines.filter(({ source }) => source === name).map(({ target }) => target);
    for (let at = 1; at < targets.length; at += 1)
      wrong += Math.sign(place(targets[at - 1]) - place(targets[at]));
  }
  return wrong > 0;
}

function mirror(graph) {
  const { width } = graph.graph();
  const turn = (spot) => (spot.x = width - spot.x);
  graph.nodes().forEach((id) => turn(graph.node(id)));
  graph.edges().forEach((id) => graph.edge(id).points.forEach(turn));
}

/** A label is a thing of its own between two steps: it has room, and stands right above its target. */
function addLine(graph, { source, target }, at, { back, label }) {
  const [from, to] = back ? [target, source] : [source, target];
  if (!label) {
    graph.setEdge(`n${from}`, `n${to}`, { weight: back ? 1 : 2 }, `e${at}`);
    return;
  }
  graph.setEdge(`n${from}`, `l${at}`, { weight: 1 }, `e${at}`);
  if (source !== target) graph.setEdge(`l${at}`, `n${to}`, { weight: 3 }, `f${at}`);
}
