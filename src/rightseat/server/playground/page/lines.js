// The lines of a flow's picture: down, across and down again, with round corners.

import { s } from "./dom.js";

const ROUND = 8;
const TIP = 7;

/** The numbers of the lines that lead back to a step that comes before: of loops, and of a step to itself. */
export function findBackLines({ boxes, lines }) {
  const back = new Set();
  const open = new Set();
  const done = new Set();
  const visit = (name) => {
    open.add(name);
    lines.forEach(({ source, target }, at) => {
      if (source !== name) return;
      if (open.has(target)) back.add(at);
      else if (!done.has(target)) visit(target);
    });
    open.delete(name);
    done.add(name);
  };
  const names = boxes.map((box) => box.name).sort((a, b) => (b === "start") - (a === "start"));
  names.forEach((name) => done.has(name) || visit(name));
  return back;
}

/** The rows in which steps and labels stand, as {top, bottom}. */
export function listBands(spots) {
  const rows = new Map();
  for (const { y, height } of spots) {
    const row = rows.get(Math.round(y)) ?? { top: y, bottom: y };
    row.top = Math.min(row.top, y - height / 2);
    row.bottom = Math.max(row.bottom, y + height / 2);
    rows.set(Math.round(y), row);
  }
  return [...rows.values()];
}

/** One line with its tip, through the points that the layout found for it. */
export function drawLine(graph, { source, target }, at, { back, label, bands }) {
  const [from, to] = [graph.node(`n${source}`), graph.node(`n${target}`)];
  if (source === target) return drawn(selfPoints(graph, from, at, label), { up: false });
  const [first, last] = back ? [target, source] : [source, target];
  const inner = (id) => (graph.edge(id)?.points ?? []).slice(1, -1);
  const spot = label ? graph.node(`l${at}`) : null;
  const edge = (v, w, name) => inner({ v, w, name });
  const points = spot
    ? [...edge(`n${first}`, `l${at}`, `e${at}`), spot, ...edge(`l${at}`, `n${last}`, `f${at}`)]
    : edge(`n${first}`, `n${last}`, `e${at}`);
  if (back) points.reverse();
  // A line back stands beside the lines ahead.
  const aside = ({ width }) => (back ? width / 4 : 0);
  const side = back ? -1 : 1;
  const start = { x: from.x + aside(from), y: from.y + (side * from.height) / 2 };
  const end = { x: to.x + aside(to), y: to.y - (side * to.height) / 2 };
  return drawn(corners(start, points, end, { bands, back }), { up: back });
}

function selfPoints(graph, { x, y, width, height }, at, label) {
  const right = x + width / 2;
  const spot = label ? graph.node(`l${at}`) : null;
  if (!spot) {
    return [
      { x: right, y: y + 8 },
      { x: right + 14, y: y + 8 },
      { x: right + 14, y: y - 8 },
      { x: right, y: y - 8 },
    ];
  }
  const low = y + height / 2;
  const middle = (low + spot.y - spot.height / 2) / 2;
  const [a, b] = [x + width / 4, x + width / 2.6];
  return [
    { x: a, y: low },
    { x: a, y: middle },
    { x: b, y: middle },
    { x: b, y: low },
  ];
}

/** Where the line turns. Inside a row it goes straight; it goes across only between two rows. */
function corners(start, points, end, { bands, back }) {
  const inRow = ({ y }) => bands.some(({ top, bottom }) => y >= top - 1 && y <= bottom + 1);
  const found = [start];
  let gap = null;
  for (const point of [...points, end]) {
    const here = found.at(-1);
    if (point !== end && !inRow(point)) {
      gap = point.y;
      continue;
    }
    if (Math.abs(point.x - here.x) > 0.5) {
      const y = (gap ?? (here.y + point.y) / 2) - (back ? 5 : 0);
      found.push({ x: here.x, y }, { x: point.x, y });
    }
    found.push({ x: point.x, y: point.y });
    gap = null;
  }
  return found;
}

function drawn(points, { up }) {
  const last = points.at(-1);
  const before = points.at(-2);
  const turn = Math.round((Math.atan2(last.y - before.y, last.x - before.x) * 180) / Math.PI);
  const tip = {
    class: "tip",
    d: `M${-TIP} -4L0 0L${-TIP} 4z`,
    transform: `translate(${last.x} ${last.y}) rotate(${turn})`,
  };
  return s(
    "g",
    { class: "way" },
    s("path", { class: up ? "edge up" : "edge", d: rounded(points) }),
    s("path", tip),
  );
}

function rounded(points) {
  let path = `M${points[0].x} ${points[0].y}`;
  for (let at = 1; at < points.length - 1; at += 1) {
    const [before, here, after] = [points[at - 1], points[at], points[at + 1]];
    const into = near(here, before);
    const out = near(here, after);
    path += `L${into.x} ${into.y}Q${here.x} ${here.y} ${out.x} ${out.y}`;
  }
  const { x, y } = points.at(-1);
  return `${path}L${x} ${y}`;
}

/** The point on the way from `here` to `there` where the corner begins. */
function near(here, there) {
  const length = Math.hypot(there.x - here.x, there.y - here.y);
  const part = length ? Math.min(ROUND, length / 2) / length : 0;
  return { x: here.x + (there.x - here.x) * part, y: here.y + (there.y - here.y) * part };
}
