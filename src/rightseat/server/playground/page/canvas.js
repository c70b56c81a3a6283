// A canvas: what is on it is moved by wheel, drag and touch, made larger and smaller, and fitted into the window.

import { h, put, s } from "./dom.js";
import { icon } from "./icons.js";
import { learn } from "./words.js";

learn("en", { zoomIn: "Zoom in", zoomOut: "Zoom out", zoomFit: "Fit" });
learn("zh", { zoomIn: "放大", zoomOut: "缩小", zoomFit: "适应窗口" });

const MARGIN = 24;
const FIT = { least: 0.6, most: 1 };
// On a phone smaller would not be readable.
const PHONE = { width: 500, least: 0.8 };
const ZOOM = { least: 0.4, most: 2 };
const FACTOR = 1.2;
const KEPT = 64;
const SLOP = 5;
const between = (value, least, most) => Math.max(least, Math.min(most, value));

export class Canvas {
  /** `covered()`: how many pixels at the bottom are behind something else. */
  constructor(words, covered = () => 0) {
    this.covered = covered;
    this.spot = { x: 0, y: 0, z: 1 };
    this.pointers = new Map();
    this.fitted = true;
    const button = (word, sign, act) =>
      h(
        "button",
        { type: "button", class: "icon", "aria-label": word, title: word, onclick: act },
        icon(sign, "s"),
      );
    this.percent = h("span", { class: "pc num", role: "status" });
    this.map = h("div", { class: "map desk", "aria-hidden": "true" });
    this.zoom = h(
      "div",
      { class: "zoom" },
      button(words.zoomOut, "minus", () => this.scale(1 / FACTOR)),
      this.percent,
      button(words.zoomIn, "plus", () => this.scale(FACTOR)),
      button(words.zoomFit, "fit", () => this.fit()),
    );
    this.element = h("div", { class: "canvas", role: "group", tabindex: "0" }, this.zoom, this.map);
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  listen() {
    const on = (name, act) => this.element.addEventListener(name, act.bind(this), { passive: false });
    on("wheel", this.wheel);
    on("pointerdown", this.press);
    on("pointermove", this.drag);
    on("pointerup", this.release);
    on("pointercancel", this.release);
    on("keydown", this.key);
    on("focusin", (event) => this.reveal(event.target));
  }

  /** Shows a graph; `first` is the name of the step that is seen where not all of it is. */
  show(graph, name, first) {
    this.graph?.element.remove();
    this.graph = graph;
    this.first = first;
    this.element.setAttribute("aria-label", name);
    this.element.prepend(graph.element);
  }

  get size() {
    return {
      width: this.element.clientWidth,
      height: Math.max(120, this.element.clientHeight - this.covered()),
    };
  }

  fit() {
    const { width, height } = this.size;
    const { graph } = this;
    if (!graph?.width || !width) return;
    const z = between(
      Math.min((width - 2 * MARGIN) / graph.width, (height - 2 * MARGIN) / graph.height),
      width < PHONE.width ? PHONE.least : FIT.least,
      FIT.most,
    );
    const wide = graph.width * z;
    const center = (graph.spots.get(this.first)?.x ?? graph.width / 2) * z;
    const x =
      wide <= width - 2 * MARGIN
        ? (width - wide) / 2
        : between(width / 2 - center, width - MARGIN - wide, MARGIN);
    this.fitted = true;
    this.move({ x, y: MARGIN, z });
  }

  resized() {
    if (this.fitted) this.fit();
    else this.move(this.spot);
  }

  /** Something of the picture always stays in the window. */
  move({ x, y, z }) {
    const { width, height } = this.size;
    if (!this.graph) return;
    this.spot = {
      x: between(x, KEPT - this.graph.width * z, width - KEPT),
      y: between(y, KEPT - this.graph.height * z, height - KEPT),
      z,
    };
    const { style } = this.graph.element;
    style.setProperty("--x", `${this.spot.x}px`);
    style.setProperty("--y", `${this.spot.y}px`);
    style.setProperty("--z", z);
    this.percent.textContent = `${Math.round(z * 100)} %`;
    this.drawMap();
  }

  pan(dx, dy) {
    this.fitted = false;
    this.move({ ...this.spot, x: this.spot.x + dx, y: this.spot.y + dy });
  }

  /** Larger or smaller; what is at `at` stays there. */
  scale(factor, at = { x: this.size.width / 2, y: this.size.height / 2 }) {
    const { x, y, z } = this.spot;
    const next = between(z * factor, ZOOM.least, ZOOM.most);
    const part = next / z;
    this.fitted = false;
    this.move({ x: at.x - (at.x - x) * part, y: at.y - (at.y - y) * part, z: next });
  }

  local({ clientX, clientY }) {
    const { left, top } = this.element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  wheel(event) {
    event.preventDefault();
    const line = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * line, event.deltaY * line];
    if (event.ctrlKey || event.metaKey) this.scale(Math.exp(-between(dy, -60, 60) * 0.01), this.local(event));
    else if (event.shiftKey && !dx) this.pan(-dy, 0);
    else this.pan(-dx, -dy);
  }

  press(event) {
    if (event.target.closest(".zoom, .map") || event.button > 0) return;
    this.pointers.set(event.pointerId, { ...this.local(event), moved: false });
  }

  drag(event) {
    const known = this.pointers.get(event.pointerId);
    if (!known) return;
    const here = this.local(event);
    if (!known.moved && Math.hypot(here.x - known.x, here.y - known.y) < SLOP) return;
    // From here on it is no click on a step.
    if (!known.moved) this.element.setPointerCapture(event.pointerId);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, { ...here, moved: true });
    if (!other) this.pan(here.x - known.x, here.y - known.y);
    else this.pinch(known, here, other);
  }

  pinch(before, here, other) {
    const apart = (one) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
    const middle = { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 };
    this.pan((here.x - before.x) / 2, (here.y - before.y) / 2);
    this.scale(apart(here) / apart(before), middle);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      0: () => this.fit(),
      "+": () => this.scale(FACTOR),
      "=": () => this.scale(FACTOR),
      "-": () => this.scale(1 / FACTOR),
    };
    const act = acts[event.key] ?? (event.key.startsWith("Arrow") ? () => this.walk(event) : null);
    if (!act) return;
    event.preventDefault();
    act();
  }

  walk(event) {
    const name = event.target.dataset?.step;
    const next = name === undefined ? this.first : this.graph?.neighbour(name, event.key);
    this.graph?.nodes.get(next)?.focus({ preventScroll: true });
  }

  /** Brings the step that has the focus into the window. */
  reveal(element) {
    const spot = this.graph?.spots?.get(element.dataset?.step);
    if (!spot) return;
    const { x, y, z } = this.spot;
    const { width, height } = this.size;
    const shift = (place, half, at, room) => {
      const [low, high] = [(place - half) * z + at, (place + half) * z + at];
      if (low < MARGIN) return MARGIN - low;
      return high > room - MARGIN ? Math.max(room - MARGIN - high, MARGIN - low) : 0;
    };
    const dx = shift(spot.x, spot.width / 2, x, width);
    const dy = shift(spot.y, spot.height / 2, y, height);
    if (dx || dy) this.pan(dx, dy);
  }

  /** The whole in small, with the window; only where the window does not show all of it. */
  drawMap() {
    const { graph, spot } = this;
    const { width, height } = this.size;
    const [left, top] = [-spot.x / spot.z, -spot.y / spot.z];
    const view = { x: left, y: top, width: width / spot.z, height: height / spot.z };
    const all =
      left <= 0 && top <= 0 && view.x + view.width >= graph.width && view.y + view.height >= graph.height;
    this.map.hidden = all || !graph.spots;
    if (this.map.hidden) return;
    const box = ([name, one]) =>
      s("rect", {
        class: graph.nodes.get(name).classList.contains("done") ? "went" : null,
        ...{
          x: one.x - one.width / 2,
          y: one.y - one.height / 2,
          width: one.width,
          height: one.height,
          rx: 10,
        },
      });
    const frame = s("rect", { class: "view", "vector-effect": "non-scaling-stroke", ...view });
    const room = `${-MARGIN} ${-MARGIN} ${graph.width + 2 * MARGIN} ${graph.height + 2 * MARGIN}`;
    put(this.map, s("svg", { viewBox: room, width: 114, height: 72 }, [...graph.spots].map(box), frame));
  }
}
