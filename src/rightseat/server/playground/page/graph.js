// A flow as a picture: its steps as boxes that can be clicked, and the ways between them.

import { s } from "./dom.js";

/** {element, boxes}: `choose(name)` is called with the step that somebody looks at. */
export function graph(flow, choose) {
  const boxes = new Map(flow.boxes.map((one) => [one.name, box(one, choose)]));
  const size = { viewBox: `0 0 ${flow.width} ${flow.height}`, width: flow.width, height: flow.height };
  const element = s(
    "svg",
    { class: "flow", role: "group", "aria-label": flow.name, ...size },
    s("defs", {}, tip()),
    flow.lines.map(line),
    [...boxes.values()],
  );
  return { element, boxes };
}

function tip() {
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
  return s("marker", { id: "tip", ...size }, s("path", { d: "M0 0L8 4L0 8z" }));
}

function line({ points, label, dotted }) {
  const at = Math.floor((points.length - 1) / 2);
  const [here, next] = [points[at], points[at + 1] ?? points[at]];
  const way = points.map((point) => point.join(",")).join(" ");
  const drawn = s("polyline", { points: way, class: dotted ? "dotted" : null, "marker-end": "url(#tip)" });
  const middle = { x: (here[0] + next[0]) / 2 + 6, y: (here[1] + next[1]) / 2 };
  return [drawn, label ? s("text", { ...middle, class: "label" }, label) : null];
}

function box({ name, lines, shape, x, y, width, height }, choose) {
  const rect = s("rect", { x: x - width / 2, y, width, height, rx: shape === "end" ? height / 2 : 8 });
  const text = lines.map((words, number) =>
    s("text", { x, y: y + 18 + number * 18, "text-anchor": "middle" }, words),
  );
  const key = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(name);
  };
  const button = {
    tabindex: 0,
    role: "button",
    "aria-label": name,
    onclick: () => choose(name),
    onkeydown: key,
  };
  return s("g", { class: `box ${shape}`, ...button }, rect, text);
}
