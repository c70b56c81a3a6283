// The span that is selected in the trace: what it is, how long it took, what went in and what came out.

import { copyButton } from "./copying.js";
import { h, put } from "./dom.js";
import { clock, cost, json, seconds, tokens } from "./format.js";
import { icon } from "./icons.js";

const ICONS = {
  run: "play",
  round: "retry",
  model: "model",
  tool: "tool",
  step: "flow",
  agent: "user",
  human: "hand",
};
const CHIPS = {
  run: "",
  round: "",
  model: "model",
  tool: "tool",
  step: "step",
  agent: "tool",
  human: "human",
};
const MOST = 200;

export function detail(row, trace) {
  const { app, inspector } = trace;
  const { words } = app;
  const button = (look, word, sign, onclick) =>
    h("button", { type: "button", class: look, "aria-label": word, title: word, onclick }, icon(sign, "s"));
  const state = row.failed
    ? ["bad", words.failed]
    : row.running
      ? ["acc", words.running]
      : ["ok", words.done];
  const kind = words[`kind${row.kind[0].toUpperCase()}${row.kind.slice(1)}`];
  const head = h(
    "div",
    { class: "row" },
    h("span", { class: `chip ${CHIPS[row.kind]}` }, icon(ICONS[row.kind], "xs"), kind),
    h("span", { class: `chip ${state[0]}` }, state[1]),
    h("span", { class: "grow" }),
    button("icon sm", words.previousSpan, "left", () => trace.step(-1)),
    button("icon sm", words.nextSpan, "right", () => trace.step(1)),
    button("icon sm phone", words.closeSpan, "x", () => trace.select(null, false)),
  );
  const acts = h("div", { class: "row dos" }, [
    row.item ? act("chat", words.showInChat, () => inspector.showInChat(row)) : null,
    row.kind === "model" ? act("code", words.seePrompt, () => inspector.choose("prompts")) : null,
  ]);
  return [
    h("div", { class: "grab" }),
    h("section", {}, head, h("h2", { class: "h1 mono what" }, row.name), facts(row, trace), acts),
    ...parts(row, app),
  ];
}

function act(sign, word, onclick) {
  return h("button", { type: "button", class: "btn sm", onclick }, icon(sign, "xs"), word);
}

function facts(row, trace) {
  const { words } = trace.app;
  const wait = row.kind === "human" ? row.took : row.kind === "run" ? row.waited : waitOf(row, trace);
  const took = row.kind === "human" || row.untimed || row.waits ? null : row.to - row.from;
  const rows = [
    [words.spanStarted, row.began && !row.untimed ? clock(row.began) : null],
    [words.spanTook, took === null ? null : seconds(took)],
    [words.spanFirst, row.first === undefined || row.untimed ? null : seconds(row.first - row.from)],
    [words.spanWaited, wait ? `${seconds(wait)}, ${words.notCounted}` : null, "warn"],
    [words.spanAnswer, row.told],
    [words.spanTokens, tokens(row.usage) || null],
    [words.costColumn, cost(row.usage) || null],
    [words.spanError, row.error],
    [words.spanIn, whereOf(row, trace)],
  ].filter(([, value]) => value);
  return [
    h(
      "dl",
      { class: "kv num" },
      rows.map(([name, value, look]) => [h("dt", {}, name), h("dd", { class: look }, value)]),
    ),
    row.untimed ? h("p", { class: "tiny dim" }, words.untimed) : null,
  ];
}

/** How long a call waited until a person allowed it. */
function waitOf(row, { rows }) {
  const asked = row.kind === "tool" && rows.find(({ kind, item }) => kind === "human" && item === row.item);
  return asked ? asked.took : null;
}

function whereOf(row, { tree, app }) {
  const run = tree.indexOf(row.axis);
  if (row === row.axis || run < 0) return null;
  const round = row.axis.children.find((one) => one.kind === "round" && one.children.includes(row));
  const named = app.words.runName.replace("#", run + 1);
  return round ? `${named}, ${round.name}` : named;
}

/** Input, output and events, one of them shown. */
function parts(row, app) {
  const { words, talk } = app;
  const { input, output } = dataOf(row, talk);
  const events = eventsOf(row, talk);
  const pages = [
    [words.spanInput, input],
    [words.spanOutput, output],
    [`${words.spanEvents} ${events.length}`, events.length ? events.slice(0, MOST) : undefined],
  ].filter(([, value]) => value !== undefined && value !== "");
  if (!pages.length) return [];
  let shown = pages[0][1];
  const box = h("pre", { class: "pre box wrapit", tabindex: "0" });
  const choose = (value, button) => {
    shown = value;
    put(box, json(value));
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
  };
  const buttons = pages.map(([name, value]) => {
    const button = h("button", { type: "button", onclick: () => choose(value, button) }, name);
    return button;
  });
  const text = () => (typeof shown === "string" ? shown : JSON.stringify(shown, null, 2));
  const copy = copyButton(text, words.copy, words);
  choose(shown, buttons[0]);
  const bar = h("div", { class: "row between" }, h("div", { class: "seg" }, buttons), copy);
  return [h("section", {}, bar, box)];
}

function dataOf(row, talk) {
  if (row.kind === "tool") {
    const item = talk.byId.get(row.ref);
    return { input: item?.args, output: item?.result };
  }
  if (row.kind === "model") {
    const said = (row.says ?? [row.item]).map((id) => talk.byId.get(id)?.text).filter(Boolean);
    const calls = (row.calls ?? [])
      .map((id) => talk.byId.get(id))
      .filter(Boolean)
      .map(({ name, args }) => `${name}(${args})`);
    return { output: [...said, ...calls].join("\n") || undefined };
  }
  if (row.kind === "step") {
    const step = [...talk.steps.values()].findLast((one) => one.step === row.name);
    return { input: step?.input, output: step?.output ?? step?.error };
  }
  if (row.kind === "human") return { input: talk.byId.get(row.question)?.message, output: row.told };
  if (row.kind === "agent") return { output: talk.byId.get(row.ref)?.text };
  return { input: row.kind === "run" ? talk.byId.get(row.item)?.text : undefined };
}

function eventsOf(row, talk) {
  const ids = new Set([row.ref, row.question, ...(row.says ?? []), ...(row.calls ?? [])].filter(Boolean));
  const about = ({ messageId, toolCallId, subagentRunId, stepName, runId, outcome }) =>
    ids.has(messageId) ||
    ids.has(toolCallId) ||
    ids.has(subagentRunId) ||
    (row.kind === "step" && stepName === row.name) ||
    (row.kind === "run" && row.runs.some(({ id }) => id === runId)) ||
    (row.kind === "human" && outcome?.interrupts?.some(({ id }) => id === row.question));
  return talk.log.map(({ event }) => event).filter(about);
}
