// The panel beside a flow: what it is run with, its steps, the data of one of them, the result, and earlier runs.

import { ArtifactCard } from "./artifacts.js";
import { h, put } from "./dom.js";
import { FailureCard } from "./cards.js";
import { listVisits, runState, runTime, runTokens } from "./flowrun.js";
import { icon } from "./icons.js";
import { Prose } from "./markdown.js";
import { QuestionCard } from "./questions.js";
import { describeStep } from "./stepdata.js";

const LOOKS = {
  done: ["ok", "check"],
  failed: ["bad", "x"],
  running: ["acc", "play"],
  asking: ["warn", "hand"],
  stopped: ["off", "stop"],
  cut: ["off", "stop"],
};
const CARDS = { question: QuestionCard, failure: FailureCard, artifact: ArtifactCard };
export const seconds = (ms) => (ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`);

export class RunPanel {
  /** `acts`: run(text), stop(), look(name), reopen(run), close(). */
  constructor(app, acts) {
    const { words } = app;
    this.app = app;
    this.acts = acts;
    this.side = "output";
    this.cards = new Map();
    this.input = h("input", { class: "input grow", "aria-label": words.runInput });
    this.start = h("button", { class: "btn ink" }, icon("play", "xs"), words.runFlow);
    this.halt = h(
      "button",
      { type: "button", class: "btn", onclick: () => acts.stop() },
      icon("stop", "xs"),
      words.stop,
    );
    this.status = h("div", { class: "row tiny dim runstatus", role: "status" });
    this.asking = h("section", { class: "asking", "aria-live": "polite" });
    this.steps = h("div", { class: "steps", role: "group", "aria-label": words.flowSteps });
    this.data = h("section", { class: "stepdata", "aria-label": words.stepData });
    this.result = h("div", { class: "col result" });
    this.past = h("div", { class: "steps" });
    this.parts = {
      asking: this.asking,
      steps: h("section", {}, this.steps),
      data: this.data,
      result: h(
        "section",
        { "aria-label": words.flowResult },
        h("h2", { class: "over" }, words.flowResult),
        this.result,
      ),
      past: h("section", {}, h("h2", { class: "over" }, words.earlierRuns), this.past),
    };
    this.element = this.build();
  }

  build() {
    const { words } = this.app;
    const send = (event) => {
      event.preventDefault();
      this.acts.run(this.input.value.trim());
    };
    const shut = {
      type: "button",
      class: "icon phone",
      "aria-label": words.close,
      onclick: () => this.acts.close(),
    };
    const grip = { type: "button", class: "grip", "aria-label": words.sheetTaller };
    const head = h(
      "section",
      {},
      h(
        "form",
        { class: "row", onsubmit: send },
        this.input,
        this.start,
        this.halt,
        h("button", shut, icon("x")),
      ),
      this.status,
    );
    const panel = h("aside", { class: "side run", "aria-label": words.runPanel });
    panel.append(
      h("button", { ...grip, onclick: () => panel.toggleAttribute("data-tall") }),
      head,
      h("div", { class: "scroller" }, Object.values(this.parts)),
    );
    return panel;
  }

  /** Another flow: nothing of the one before stays. */
  open(flow) {
    this.flow = flow;
    this.looked = "";
    this.input.value = "";
    this.input.placeholder = flow.description || flow.name;
    this.drawn = {};
    this.cards.clear();
  }

  look(name) {
    this.looked = name;
  }

  /** `run` is {talk, agent, thread} or null; `past` the earlier ones. */
  draw(run, past) {
    const talk = run?.talk;
    this.visits = talk ? listVisits(talk, this.flow) : [];
    this.drawHead(run);
    this.drawCards(run);
    this.drawSteps(talk);
    this.drawData();
    this.drawResult(talk);
    this.drawPast(past, run);
  }

  /** Put in again only where something is new: what somebody reads or fills in stays. */
  once(part, key, make) {
    this.parts[part].hidden = key === "";
    if (this.drawn[part] === key) return;
    this.drawn[part] = key;
    make();
  }

  drawHead(run) {
    const { words } = this.app;
    const state = run ? runState(run.talk) : "";
    this.start.hidden = state === "running" && run.live;
    this.halt.hidden = !this.start.hidden;
    clearTimeout(this.timer);
    this.status.hidden = !state;
    if (!state) return;
    const [look, name] = LOOKS[state];
    const time = runTime(run.talk);
    const tokens = runTokens(run.talk);
    const facts = [time === null ? "" : seconds(time), tokens ? `${tokens} ${words.flowTokens}` : ""];
    const link = h(
      "a",
      { href: `#/chat/${encodeURIComponent(run.agent)}/${encodeURIComponent(run.thread)}` },
      words.openInChat,
    );
    put(
      this.status,
      h(
        "span",
        { class: `chip ${look}`, dataset: { run: state } },
        icon(name, "xs"),
        words[`state_${state}`],
      ),
      h(
        "span",
        { class: "num cut", "aria-hidden": state === "running" ? "true" : null },
        facts.filter(Boolean).join(" · "),
      ),
      h("span", { class: "grow" }),
      link,
    );
    if (state === "running")
      this.timer = setTimeout(() => this.element.isConnected && this.drawHead(run), 250);
  }

  /** What the run asks, and what went wrong. */
  drawCards(run) {
    const open = ({ kind, answer }) => (kind === "question" && !answer) || kind === "failure";
    const items = run?.live ? run.talk.items.filter(open) : [];
    this.once("asking", items.map((item) => item.id).join(" "), () =>
      put(
        this.asking,
        items.map((item) => this.card(item)),
      ),
    );
  }

  card(item) {
    let card = this.cards.get(item.id);
    if (!card) this.cards.set(item.id, (card = new CARDS[item.kind](item, this.app)));
    card.update(item);
    return card.element;
  }

  drawSteps(talk) {
    const timed = talk && runTime(talk) !== null;
    const key = this.visits.map(({ name, state, ended }) => `${name} ${state} ${ended}`).join("\n");
    this.once("steps", key && `${key}\n${this.looked}`, () => {
      const focused = this.steps.contains(document.activeElement) ? document.activeElement.dataset.visit : "";
      put(
        this.steps,
        this.visits.map((visit) => this.step(visit, timed)),
      );
      if (focused) this.steps.querySelector(`[data-visit="${CSS.escape(focused)}"]`)?.focus();
    });
  }

  step(visit, timed) {
    const { name, kind, state, began, ended } = visit;
    const took = timed && ended ? seconds(ended - began) : "";
    const at = this.visits.indexOf(visit);
    const look = {
      type: "button",
      class: name === this.looked ? "stp on" : "stp",
      title: name,
      dataset: { visit: `${at}` },
    };
    const word = this.app.words[`step_${state}`];
    return h(
      "button",
      { ...look, onclick: () => this.acts.look(name, at) },
      status(state, word),
      h("span", { class: "cut" }, name),
      h("span", { class: "chip sq" }, kind),
      h("span", { class: "tm num" }, took),
    );
  }

  /** What went into the step that is looked at, and what came out. */
  drawData() {
    const mine = this.visits.filter(({ name }) => name === this.looked);
    const visit = this.visits[this.at]?.name === this.looked ? this.visits[this.at] : mine.at(-1);
    const key = this.looked && [this.looked, this.side, mine.length, visit?.state, visit?.ended].join(" ");
    this.once("data", key, () => this.fillData(visit, mine.length));
  }

  fillData(visit, times) {
    const choose = (side) => {
      this.side = side;
      this.drawData();
      this.data.querySelector("[aria-pressed=true]")?.focus();
    };
    const { looked: name, side } = this;
    put(this.data, describeStep({ name, visit, times, side }, this.app.words, choose));
  }

  /** What the run says and draws. */
  drawResult(talk) {
    const items = (talk?.items ?? []).filter(
      ({ kind, role, text }) => kind === "artifact" || (kind === "message" && role === "assistant" && text),
    );
    const key = items.map(({ id, text = "" }) => `${id} ${text.length}`).join("\n");
    this.once("result", key, () => {
      const said = ({ text }) => {
        const prose = new Prose();
        prose.show(text);
        return h("div", { class: "small" }, prose.element);
      };
      put(
        this.result,
        items.map((item) => (item.kind === "artifact" ? this.card(item) : said(item))),
      );
    });
  }

  drawPast(past, run) {
    const shown = past.filter((one) => one.thread !== run?.thread);
    const key = shown.map((one) => `${one.thread} ${runState(one.talk)}`).join("\n");
    this.once("past", key, () =>
      put(
        this.past,
        shown.map((one) => this.earlier(one)),
      ),
    );
  }

  earlier(run) {
    const state = runState(run.talk) || "running";
    const time = new Date(run.at).toLocaleTimeString(this.app.language, {
      hour: "2-digit",
      minute: "2-digit",
    });
    return h(
      "button",
      { type: "button", class: "stp", title: run.text, onclick: () => this.acts.reopen(run) },
      status(state, this.app.words[`state_${state}`]),
      h("span", { class: "cut" }, run.text),
      h("span", { class: "tm num" }, time),
    );
  }
}

function status(state, word) {
  const [look, name] = LOOKS[state] ?? LOOKS.cut;
  return h("span", { class: `st ${look}`, title: word }, icon(name), h("span", { class: "sr" }, word));
}
