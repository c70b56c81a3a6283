// A tool call as one card: its arguments as they come, what it asks a person, the outcome, its result, its time.

import { h, put } from "./dom.js";
import { Folding, inWords, seconds } from "./folding.js";
import { entry, kindOf, outcomeOf } from "./questions.js";
import { Prose } from "./markdown.js";
import { parsed, value as shown } from "./values.js";
import { learn } from "./words.js";

learn("en", {
  details: "Details",
  argumentsOf: "Arguments",
  resultOf: "Result",
  callFailed: "Failed",
  callStopped: "Stopped",
  notRun: "Not run",
  waitingForYou: "Waiting for you",
  waitingForOthers: "Waiting",
  isRunning: "Running",
  isDone: "Done",
  toldModel: "The model was told, and may try again.",
  stoppedTold: "Stopped.",
  stoppedMore: "The request was closed; the tool may have finished it.",
  verdict_allowed: "Allowed once.",
  verdict_declined: "Declined.",
  verdict_declined_more: "Nothing was run. The model was told so.",
  verdict_ignored: "Not answered.",
  verdict_ignored_more: "You wrote another message first. Nothing was run.",
  verdict_unanswered: "Not answered.",
  verdict_cancelled: "Cancelled.",
  verdict_cancelled_more: "The model was told so.",
  verdict_answered: "Answered.",
  runTool: "Run “{name}”?",
  sendRequest: "Send {name} to {hosts}?",
});
learn("zh", {
  details: "详情",
  argumentsOf: "参数",
  resultOf: "结果",
  callFailed: "失败",
  callStopped: "已停止",
  notRun: "未执行",
  waitingForYou: "等待你的操作",
  waitingForOthers: "等待中",
  isRunning: "运行中",
  isDone: "完成",
  toldModel: "已告知模型，它可能会重试。",
  stoppedTold: "已停止。",
  stoppedMore: "请求已关闭；工具可能已经执行完毕。",
  verdict_allowed: "已允许一次。",
  verdict_declined: "已拒绝。",
  verdict_declined_more: "没有执行任何操作，已告知模型。",
  verdict_ignored: "未回答。",
  verdict_ignored_more: "你先发送了另一条消息。没有执行任何操作。",
  verdict_unanswered: "未回答。",
  verdict_cancelled: "已取消。",
  verdict_cancelled_more: "已告知模型。",
  verdict_answered: "已回答。",
  runTool: "是否执行“{name}”？",
  sendRequest: "是否向 {hosts} 发送 {name}？",
});

// Milliseconds without a key after which nobody is typing, and for which a card that came by itself takes no key.
const QUIET = 1000;
const HOLD = 400;
let typed = -QUIET;
addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Enter" && event.target.closest?.("input, textarea")) typed = performance.now();
  },
  true,
);

/** A tool call. A question about it is one of its states. */
export class CallCard extends Folding {
  constructor(item, app) {
    super(`${app.words.tool}: ${item.name}`, app.words);
    this.app = app;
    this.beam = h("div", { class: "beam", hidden: true });
    this.place = h("div");
    this.args = h("div", { class: "args" });
    this.result = h("div", { class: "result" });
    put(this.name, inWords(item.name));
    this.name.title = item.name;
    put(this.details, this.args, this.result);
    this.element.tabIndex = -1;
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.append(this.head, this.beam, this.place, this.details);
  }

  update(item) {
    const asked = (item.asked ?? []).map((id) => this.app.talk.byId.get(id)).filter(Boolean);
    const question = asked.find(({ answer }) => !answer) ?? asked.at(-1);
    const left = item.recalled && item.result === undefined && !item.open ? "unanswered" : null;
    const outcome = question ? outcomeOf(question, item) : left;
    const state = stateOf(item, outcome);
    this.state(state, this.told(state));
    this.beam.hidden = state !== "running";
    this.button.hidden = state === "asking";
    this.fn.textContent = FOLDED.has(state) ? signature(item) : item.name;
    this.time.textContent = this.clock(state, item);
    if (state === "running") this.tick(item.began);
    this.fill(item);
    this.answer(state, question, outcome, item);
    this.fit(state === "running");
  }

  told(state) {
    const { words } = this;
    const said = {
      done: words.isDone,
      failed: words.callFailed,
      cut: words.callStopped,
      running: words.isRunning,
    };
    const asked = { asking: words.waitingForYou, waiting: words.waitingForOthers };
    return { ...said, ...asked, declined: words.notRun, ignored: words.notRun }[state];
  }

  clock(state, item) {
    const took = seconds(item.began, item.answered);
    if (state === "running") return seconds(item.began, Date.now());
    if (state === "done") return took;
    return [this.told(state), state === "failed" ? took : ""].filter(Boolean).join(" · ");
  }

  /** The arguments and the result, for whoever looks. */
  fill(item) {
    const { words } = this;
    const key = [Boolean(item.ended), item.result === undefined, item.args].join();
    if (key !== this.given) {
      this.given = key;
      const args = item.ended ? parsed(item.args || "{}") : item.args || "…";
      const head = item.result === undefined ? null : h("div", { class: "over" }, words.argumentsOf);
      put(this.args, item.args === "{}" ? null : [head, pairs(args, words)]);
    }
    if (item.result === this.answered) return;
    this.answered = item.result;
    put(this.result, h("div", { class: "over" }, words.resultOf), shown(parsed(item.result), words));
  }

  /** What is asked and its outcome stand in the card, also while it is folded. */
  answer(state, question, outcome, item) {
    const { words } = this;
    const failure = state === "failed" ? errorOf(item.result)?.message : "";
    const key = [state, outcome, failure, question?.message].join("|");
    if (key === this.drawn) return;
    this.drawn = key;
    if (state === "asking") {
      this.ask(question, item);
      return;
    }
    if (this.place.querySelector(".question") && this.element.contains(document.activeElement)) this.leave();
    const verdict = outcome
      ? [words[`verdict_${outcome}`], words[`verdict_${outcome}_more`]]
      : state === "cut"
        ? [words.stoppedTold, words.stoppedMore]
        : null;
    put(
      this.place,
      verdict ? says(...verdict, "verdict") : null,
      failure ? says(failure, words.toldModel, "verdict bad-told") : null,
    );
  }

  ask(question, item) {
    const { words } = this;
    const text = new Prose();
    text.show(inOwnWords(question, item, words));
    text.element.setAttribute("role", "alert");
    const send = (payload, status = "resolved") => {
      this.app.answer(question, { payload, status });
      this.leave();
    };
    this.send = kindOf(question) === "confirm" ? send : null;
    const args = pairs(parsed(item.args || "{}"), words);
    put(this.place, h("div", { class: "in question" }, text.element, args, entry(question, words, send)));
    this.attend();
  }

  /** The focus comes to the card, not to a button, and only if nobody is typing. */
  attend() {
    const now = document.activeElement;
    const idle = !now || now === document.body || (now.id === "say" && !now.value) || now.closest(".talk");
    if (!idle || now?.closest(".call[data-state=asking]") || performance.now() - typed < QUIET) return;
    this.element.focus({ preventScroll: true });
    this.attended = performance.now();
  }

  /** After an answer: to the next question, or back to where one writes. */
  leave() {
    const others = this.element.closest(".talk")?.querySelectorAll(".call[data-state=asking]") ?? [];
    const next = [...others].find((one) => one !== this.element);
    (next ?? this.app.chat.composer.box).focus();
  }

  key(event) {
    const typing = event.target.closest("input, textarea, select");
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
    // Whoever had just begun to write did not mean the card.
    if (performance.now() - this.attended < HOLD) return;
    if (this.element.dataset.state !== "asking" || !this.send || typing || !plain) return;
    const approved = { y: true, n: false }[event.key.toLowerCase()];
    if (approved === undefined) return;
    event.preventDefault();
    this.send({ approved });
  }
}

const REQUEST = /^(?:Allow (.+?) at (.+?) with [^]*?\?|是否允许向 (.+?) 发送 (.+?)，参数为 [^]*？)(?=\n|$)/;
const CALL = /^(?:Allow \S+ with [^]*\?|是否允许执行 \S+，参数为 [^]*？)(?=\n|$)/;

/** The server's sentence without its JSON, in the language of the page: the arguments stand below it. */
function inOwnWords({ message = "", ...question }, { name }, words) {
  if (kindOf(question) !== "confirm") return message;
  const [request, what, where, toHosts, sent] = REQUEST.exec(message) ?? [];
  if (request) {
    const said = words.sendRequest.replace("{name}", what ?? sent).replace("{hosts}", where ?? toHosts);
    return said + message.slice(request.length);
  }
  return message.replace(CALL, () => words.runTool.replace("{name}", inWords(name)));
}

const FOLDED = new Set(["done", "failed"]);

const says = (first, more, look) =>
  h(
    "div",
    { class: "in" },
    h("div", { class: look }, h("span", {}, h("b", {}, first), more ? ` ${more}` : null)),
  );

/** Arguments as people read them: name and value, one below the other. */
function pairs(args, words) {
  if (typeof args === "string") return h("pre", { class: "pre" }, args);
  const entries = Object.entries(args ?? {});
  if (!entries.length) return null;
  if (entries.some(([, one]) => one !== null && typeof one === "object")) return shown(args, words);
  const text = (one) => (typeof one === "string" ? one : JSON.stringify(one));
  return h(
    "dl",
    { class: "kv" },
    entries.map(([name, one]) => [h("dt", {}, name), h("dd", {}, text(one))]),
  );
}

function signature({ name, args }) {
  const given = parsed(args || "{}");
  if (!given || typeof given !== "object") return name;
  const inner = Object.entries(given).map(([key, one]) => `${key}: ${JSON.stringify(one)}`);
  return inner.length ? `${name}(${inner.join(", ")})` : name;
}

const UNRUN = { declined: "declined", cancelled: "declined", ignored: "ignored", unanswered: "ignored" };

function stateOf({ result, open, waiting, ended }, outcome) {
  if (outcome === "open") return "asking";
  if (UNRUN[outcome]) return UNRUN[outcome];
  if (result !== undefined) {
    const error = errorOf(result);
    return error ? (error.code === "stopped" ? "cut" : "failed") : "done";
  }
  if (open) return "running";
  return waiting && ended ? "waiting" : "cut";
}

/** What a result says went wrong; null where it is one. */
export function errorOf(result) {
  const told = result === undefined ? null : parsed(result);
  return told && typeof told === "object" && told.error?.message ? told.error : null;
}
