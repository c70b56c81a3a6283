// The same run in the format of two endpoints, side by side.

import { h, put } from "./dom.js";
import { Asked } from "./asked.js";
import { copyButton } from "./copying.js";
import { coloured, size } from "./format.js";
import { icon } from "./icons.js";
import { Resent } from "./resend.js";
import * as server from "./server.js";

const NAMES = {
  agui: "AG-UI",
  openai: "OpenAI",
  openbb: "OpenBB",
  copilotkit: "CopilotKit",
  mcp: "MCP",
  eulercopilot: "EulerCopilot",
  llamacpp: "llama.cpp",
};
const FIRST = ["agui", "openai"];
const MOST_LINES = 2000;

export class Wire extends Asked {
  constructor(app, inspector) {
    super(app, inspector);
    this.chosen = [...FIRST];
    this.raw = [false, false];
    /** The answers to requests that were sent again, by side. */
    this.resent = [null, null];
  }

  hint() {
    return h("span", { class: "dim tiny desk cut" }, this.app.words.wireHint);
  }

  fetch(run) {
    return server.get(`/playground/wire/${encodeURIComponent(this.app.session.thread)}?run=${run}`);
  }

  drawn({ doors }) {
    this.resent.forEach((one) => one?.stop());
    this.resent = [null, null];
    const names = doors.map(({ name }) => name);
    this.chosen = this.chosen.map((name, side) => (names.includes(name) ? name : (names[side] ?? names[0])));
    const panes = [0, 1].map((side) => {
      const pane = h("section", { class: "wire" });
      this.pane(pane, doors, side);
      return pane;
    });
    return h("div", { class: "wires" }, panes);
  }

  /** One side: any endpoint, as lines or as it is. */
  pane(pane, doors, side) {
    const { words } = this.app;
    const door = doors.find(({ name }) => name === this.chosen[side]);
    const again = (focus) => {
      this.pane(pane, doors, side);
      pane.querySelector(focus)?.focus();
    };
    const choose = (name) => {
      this.chosen[side] = name;
      this.resent[side]?.stop();
      this.resent[side] = null;
      again('[role="tab"][aria-selected="true"]');
    };
    const tab = ({ name }) => {
      const chosen = name === door.name;
      const props = {
        type: "button",
        role: "tab",
        "aria-selected": String(chosen),
        tabindex: chosen ? "0" : "-1",
      };
      return h(
        "button",
        { ...props, dataset: { door: name }, onclick: () => choose(name) },
        NAMES[name] ?? name,
      );
    };
    const key = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const at = (doors.indexOf(door) + step + doors.length) % doors.length;
      choose(doors[at].name);
    };
    const look = (raw, word) => {
      const turn = () => {
        this.raw[side] = raw;
        again(`[data-raw="${raw}"]`);
      };
      const pressed = String(this.raw[side] === raw);
      return h("button", { type: "button", "aria-pressed": pressed, dataset: { raw }, onclick: turn }, word);
    };
    const resent = this.resent[side];
    const bytes = resent ? resent.text : door.bytes;
    const list = { class: "doors tabs", role: "tablist", "aria-label": `${words.endpointOf} ${side + 1}` };
    put(
      pane,
      h("div", { ...list, onkeydown: key }, doors.map(tab)),
      h(
        "div",
        { class: "tools" },
        h("span", { class: "meth post" }, "POST"),
        h("code", { class: "cut", title: path(door.curl) }, path(door.curl)),
        h("span", { class: "grow" }),
        resent?.chip,
        resent ? null : h("span", { class: "dim tiny num" }, size(door.size)),
        h("div", { class: "seg" }, look(false, words.wireLines), look(true, words.wireRaw)),
        copyButton(() => server.keyed(door.curl), words.copyCurl, words),
        this.sender(door, side, again),
      ),
      this.raw[side] ? h("pre", { class: "scroller pre bytes", tabindex: "0" }, bytes) : this.lines(bytes),
    );
  }

  /** Sends the request once more; its answer stands in the place of the recorded one. */
  sender(door, side, again) {
    const label = this.app.words.sendAgain;
    const send = () => {
      this.resent[side]?.stop();
      const mine = (this.resent[side] = new Resent(this.app, door));
      const draw = () => this.resent[side] === mine && again("[data-again]");
      draw();
      mine.run(draw);
    };
    const props = { type: "button", class: "icon sm", "aria-label": label, title: label };
    return h("button", { ...props, dataset: { again: side }, onclick: send }, icon("retry", "s"));
  }

  /** Line by line; those about the selected span are marked. */
  lines(bytes) {
    const row = this.inspector.panels.trace?.current;
    const ids = [row?.ref, ...(row?.says ?? []), ...(row?.calls ?? [])].filter(Boolean);
    const all = bytes.split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("id:"));
    const line = (text, number) =>
      h(
        "div",
        { class: ids.some((id) => text.includes(id)) ? "wl hit" : "wl" },
        h("span", { class: "g" }, number + 1),
        h("span", { class: "t" }, said(text)),
      );
    const more =
      all.length > MOST_LINES ? h("p", { class: "pad dim" }, `… ${all.length - MOST_LINES}`) : null;
    return h("div", { class: "scroller lines", tabindex: "0" }, all.slice(0, MOST_LINES).map(line), more);
  }
}

/** The name of a field is pale, its JSON coloured. */
function said(text) {
  const [, head = "", rest = text] = /^((?:data|event|id|retry): ?|: ?)(.*)$/.exec(text) ?? [];
  return [head ? h("span", { class: "c-c" }, head) : null, coloured(rest)];
}

/** The path in a curl command. */
function path(curl) {
  const url = /https?:\/\/[^\s'"]+/.exec(curl)?.[0];
  return url ? new URL(url).pathname : "";
}
