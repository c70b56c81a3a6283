// The events of the conversation as they came: number, time, kind, type and a preview; opened, the JSON.

import { h, put, download } from "./dom.js";
import { json } from "./format.js";
import { icon } from "./icons.js";

const MOST = 500;
const DELTAS = new Set(["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"]);
const KINDS = { Run: "run", Text: "model", Tool: "tool", State: "run", Custom: "step" };
const CHIPS = { Text: "model", Tool: "tool", Custom: "step" };

export class Raw {
  constructor(app) {
    const { words } = app;
    const props = { class: "input", type: "search", "aria-label": words.filter, placeholder: words.filter };
    this.app = app;
    this.kind = "";
    this.opened = new Set();
    this.limit = MOST;
    this.made = new Map();
    this.filter = h("input", { ...props, oninput: () => this.again() });
    this.chips = h("div", { class: "row desk kinds", role: "group", "aria-label": words.eventKinds });
    const merging = { type: "button", class: "switch on desk", role: "switch", "aria-checked": "true" };
    this.merge = h("button", { ...merging, onclick: () => this.turn() }, h("i"), words.mergeDeltas);
    const save = { type: "button", class: "icon sm", "aria-label": words.download, title: words.download };
    this.list = h("div", { class: "scroller events" });
    this.element = h(
      "div",
      { class: "panel" },
      h(
        "div",
        { class: "tools" },
        h("div", { class: "search find" }, icon("search", "s"), this.filter),
        this.chips,
        h("span", { class: "grow" }),
        this.merge,
        h("button", { ...save, onclick: () => this.save() }, icon("down2", "s")),
      ),
      this.list,
    );
  }

  turn() {
    const on = this.merge.classList.toggle("on");
    this.merge.setAttribute("aria-checked", String(on));
    this.again();
  }

  again() {
    this.known = null;
    this.limit = MOST;
    this.show(this.app.talk);
  }

  save() {
    const events = this.app.talk.log.map(({ event }) => event);
    download("events.json", `${JSON.stringify(events, null, 2)}\n`, "application/json");
  }

  show(talk) {
    const traced = talk.runs.filter(({ trace }) => trace).length;
    const known = `${talk.log.length} ${traced}`;
    if (known === this.known) return;
    this.known = known;
    const rows = merged(timed(talk), this.merge.classList.contains("on"));
    this.count(rows);
    const wanted = this.filter.value.trim().toLowerCase();
    const has = ({ events }) => events.some((event) => JSON.stringify(event).toLowerCase().includes(wanted));
    const found = rows.filter((row) => (!this.kind || row.kind === this.kind) && (!wanted || has(row)));
    const { words } = this.app;
    const more = { type: "button", class: "btn quiet", onclick: () => this.enlarge() };
    // What has not changed keeps its element: it may be open, or have the focus.
    const elements = found.slice(0, this.limit).flatMap((row) => this.elements(row));
    const rest = found.length - this.limit;
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.list.replaceChildren(
      ...elements,
      ...(found.length ? [] : [h("p", { class: "pad dim" }, words.noEvent)]),
      ...(rest > 0 ? [h("button", more, `${words.more} (${rest})`)] : []),
    );
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  enlarge() {
    this.limit += MOST;
    this.known = null;
    this.show(this.app.talk);
  }

  count(rows) {
    const { words } = this.app;
    const number = (kind) =>
      rows.filter((row) => !kind || row.kind === kind).reduce((all, row) => all + row.events.length, 0);
    const chip = (kind) => {
      const look = { class: `chip ${this.kind === kind ? "acc" : (CHIPS[kind] ?? "")}`, dataset: { kind } };
      const choose = () => {
        this.kind = kind;
        this.again();
        this.chips.querySelector(`[data-kind="${kind}"]`)?.focus();
      };
      const pressed = String(this.kind === kind);
      const word = words[`events${kind || "All"}`];
      return h(
        "button",
        { type: "button", ...look, "aria-pressed": pressed, onclick: choose },
        `${word} ${number(kind)}`,
      );
    };
    const kinds = Object.keys(KINDS).filter((kind) => number(kind));
    put(this.chips, ["", ...kinds].map(chip));
  }

  elements(row) {
    const sign = JSON.stringify([row.number, row.at, row.events.length, this.opened.has(row.number)]);
    const known = this.made.get(row.number);
    if (known?.sign === sign) return known.elements;
    const elements = this.row(row);
    this.made.set(row.number, { sign, elements });
    return elements;
  }

  row(row) {
    const { number, at, events, kind } = row;
    const [event] = events;
    const open = this.opened.has(number);
    const many = events.length > 1 ? ` × ${events.length}` : "";
    const custom = event.type === "CUSTOM" ? ` ${event.name}` : "";
    const asks = event.outcome?.type === "interrupt";
    const turn = () => {
      if (!this.opened.delete(number)) this.opened.add(number);
      this.known = null;
      this.show(this.app.talk);
      this.list.querySelector(`[data-number="${number}"]`)?.focus({ preventScroll: true });
    };
    const text = preview(events);
    const line = h(
      "button",
      {
        type: "button",
        class: `ev k-${asks ? "human" : event.type === "RUN_ERROR" ? "bad" : KINDS[kind]}${open ? " on" : ""}`,
        "aria-expanded": String(open),
        dataset: { number },
        onclick: turn,
      },
      h("span", { class: "no" }, number),
      h("span", { class: "at" }, at === null ? "–" : (at / 1000).toFixed(2)),
      h(
        "span",
        { class: "ty" },
        h("span", { class: "kd" }),
        h("span", { class: "cut" }, `${event.type}${custom}${many}`),
      ),
      h("span", { class: "pv cut", title: text.slice(0, 200) }, text),
      icon(open ? "down" : "right", "xs dim"),
    );
    if (!open) return [line];
    const body = h(
      "pre",
      { class: "pre wrapit", tabindex: "0" },
      json(events.length > 1 ? joined(events) : event),
    );
    return [line, h("div", { class: "evbody" }, body)];
  }
}

export function kindOf({ type }) {
  if (type.startsWith("TEXT_") || type.startsWith("REASONING_")) return "Text";
  if (type.startsWith("TOOL_")) return "Tool";
  if (type.startsWith("STATE_") || type.startsWith("MESSAGES_")) return "State";
  if (type.startsWith("RUN_") || type.startsWith("STEP_")) return "Run";
  return "Custom";
}

/** Deltas that follow each other are one row. */
function merged(rows, merge) {
  const found = [];
  for (const { event, at, number } of rows) {
    const last = found.at(-1);
    const id = event.messageId ?? event.toolCallId;
    if (merge && last?.type === event.type && last.id === id && DELTAS.has(event.type))
      last.events.push(event);
    else found.push({ number, at, id, type: event.type, kind: kindOf(event), events: [event] });
  }
  return found;
}

const joined = (events) => ({ ...events[0], delta: events.map(({ delta }) => delta).join("") });

/** When each event came, in milliseconds since its run began: by the page's clock, or for a conversation that was
 * loaded by the server's trace. */
function timed({ log, runs }) {
  let run = null;
  let last = null;
  return log.map(({ event, at }, index) => {
    const next = runs.find(({ from }) => from === index);
    if (next) [run, last] = [next, next.replayed && !next.trace ? null : 0];
    if (run && !run.replayed) last = Math.max(at - run.began, 0);
    else if (run?.trace) last = Math.max(whenOf(event, run.trace) ?? last, last);
    return { event, at: last, number: index + 1 };
  });
}

const FIELDS = {
  TEXT_MESSAGE_START: ["message", "began"],
  TEXT_MESSAGE_CONTENT: ["message", "first"],
  TEXT_MESSAGE_END: ["message", "ended"],
  REASONING_MESSAGE_START: ["reasoning", "began"],
  REASONING_MESSAGE_CONTENT: ["reasoning", "first"],
  REASONING_MESSAGE_END: ["reasoning", "ended"],
  TOOL_CALL_START: ["call", "began"],
  TOOL_CALL_END: ["call", "called"],
  TOOL_CALL_RESULT: ["call", "ended"],
  STEP_STARTED: ["step", "began"],
  STEP_FINISHED: ["step", "ended"],
  SUBAGENT_STARTED: ["agent", "began"],
  SUBAGENT_FINISHED: ["agent", "ended"],
  SUBAGENT_ERROR: ["agent", "ended"],
};

function whenOf(event, trace) {
  if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR" || event.name === "trace")
    return trace.took;
  const [kind, field] = FIELDS[event.type] ?? [];
  const id = event.toolCallId ?? event.messageId ?? event.subagentRunId;
  const found = trace.spans.find((span) =>
    kind === "step"
      ? span.kind === kind && span.name === event.stepName
      : span.kind === kind && span.id === id,
  );
  return found?.[field];
}

/** What an event is about, in one line. */
function preview(events) {
  const [event] = events;
  if (DELTAS.has(event.type)) return events.map(({ delta }) => delta).join("");
  return (PREVIEWS[event.type] ?? (() => ""))(event).replace(/\s+/g, " ").slice(0, 300);
}

const text = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
const PREVIEWS = {
  RUN_STARTED: ({ input }) => text(input?.messages?.at(-1)?.content ?? ""),
  RUN_FINISHED({ outcome, usage }) {
    const asked = outcome?.interrupts?.map(({ message }) => message).join(" ");
    const used = usage?.[0] ? `, ${usage[0].inputTokens} + ${usage[0].outputTokens} tokens` : "";
    return asked ? `interrupt: ${asked}` : `${outcome?.type ?? "success"}${used}`;
  },
  RUN_ERROR: ({ code, message }) => `${code ?? ""} ${message}`.trim(),
  TEXT_MESSAGE_START: ({ role }) => role ?? "",
  TOOL_CALL_START: ({ toolCallName }) => toolCallName,
  TOOL_CALL_RESULT: ({ content }) => text(content),
  STATE_SNAPSHOT: ({ snapshot }) => text(snapshot),
  STATE_DELTA: ({ delta }) => text(delta),
  STEP_STARTED: ({ stepName }) => stepName,
  STEP_FINISHED: ({ stepName }) => stepName,
  SUBAGENT_STARTED: ({ name }) => name,
  SUBAGENT_ERROR: ({ message }) => message,
  CUSTOM: ({ name, value }) => (name === "trace" ? traced(value) : text(value)),
};

const traced = ({ took, models, spans }) =>
  [
    `${(took / 1000).toFixed(2)} s`,
    ...new Set(models.map(({ model }) => model)),
    `${spans.length} spans`,
  ].join(", ");
