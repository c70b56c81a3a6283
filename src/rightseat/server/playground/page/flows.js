// The flows of every plugin, drawn. While one runs its step is lit; a click shows what went in and came out.

import { h, put } from "./dom.js";
import { FailureCard } from "./cards.js";
import { graph } from "./graph.js";
import { QuestionCard } from "./questions.js";
import { value } from "./values.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  runFlow: "Run",
  askFlow: "Your question",
  noFlows: "No plugin here has flows. docs/flows.md shows how to write one.",
  input: "Input",
  output: "Output",
  clickStep: "Click a step to see its input and output.",
  notRun: "This step has not run yet.",
  times: "times",
  toTalk: "See the conversation",
});
learn("zh", {
  runFlow: "运行",
  askFlow: "你的问题",
  noFlows: "这里没有带流程的插件。docs/flows.zh.md 介绍如何编写。",
  input: "输入",
  output: "输出",
  clickStep: "点击步骤查看输入和输出。",
  notRun: "此步骤尚未运行。",
  times: "次",
  toTalk: "查看对话",
});

const ASKING = { question: QuestionCard, failure: FailureCard };

export class FlowsView {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "page flows" });
    this.boxes = new Map();
  }

  async show() {
    const { words } = this.app;
    put(this.element, h("p", { class: "dim" }, words.loading));
    try {
      const all = await server.get("/playground/flows");
      this.plugins = all.filter((one) => one.flows.length || one.broken.length);
    } catch (error) {
      put(this.element, h("p", { class: "bad", role: "alert" }, error.message));
      return;
    }
    if (!this.plugins.length) {
      put(this.element, h("p", { class: "dim" }, words.noFlows));
      return;
    }
    this.place = h("div", { class: "drawn" });
    const list = h(
      "nav",
      { class: "list", "aria-label": words.flows },
      this.plugins.map((one) => this.listed(one)),
    );
    put(this.element, list, this.place);
    const flows = this.plugins.flatMap((one) => one.flows);
    const first = flows.find((one) => one.id === this.flow?.id) ?? flows[0];
    if (first) this.open(first);
  }

  listed({ name, flows, broken }) {
    const entry = (flow) => {
      const props = { type: "button", class: "quiet", dataset: { flow: flow.id } };
      return h("button", { ...props, onclick: () => this.open(flow) }, flow.name);
    };
    return [h("h2", {}, name), flows.map(entry), broken.map((text) => h("p", { class: "bad" }, text))];
  }

  open(flow) {
    const { words } = this.app;
    this.flow = flow;
    this.looked = "";
    for (const one of this.element.querySelectorAll("[data-flow]")) {
      if (one.dataset.flow === flow.id) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    const question = h("input", { "aria-label": words.askFlow, placeholder: words.askFlow });
    const send = (event) => {
      event.preventDefault();
      this.run(question.value || flow.description || flow.name);
    };
    const run = h(
      "form",
      { class: "row", onsubmit: send },
      question,
      h("button", { class: "main" }, words.runFlow),
    );
    const drawn = graph(flow, (name) => this.look(name));
    this.boxes = drawn.boxes;
    this.known = "";
    this.asked = h("div", { class: "asked", "aria-live": "polite" });
    this.cards = new Map();
    const hint = h("p", { class: "dim" }, words.clickStep);
    this.detail = h("div", { class: "card", role: "region", "aria-label": words.output }, hint);
    const picture = h("div", { class: "scroll" }, drawn.element);
    put(
      this.place,
      h("h2", {}, flow.name),
      h("p", {}, flow.description),
      run,
      this.asked,
      picture,
      this.detail,
    );
    this.draw();
  }

  run(text) {
    this.app.session.fresh(this.flow.agent);
    this.app.changed();
    this.cards.clear();
    this.app.session.say(text);
  }

  look(name) {
    this.looked = name;
    this.told = null;
    this.tell();
  }

  /** The step that is looked at, told anew when there is something new. */
  tell() {
    const { words } = this.app;
    const step = this.step(this.looked);
    if (!this.looked || (step && step === this.told)) return;
    this.told = step;
    const times = step?.times > 1 ? h("small", { class: "dim" }, ` ${step.times} ${words.times}`) : null;
    const title = h("h3", {}, this.looked, times);
    const part = (word, data) => (data === undefined ? null : [h("h4", {}, word), value(data, words)]);
    put(
      this.detail,
      title,
      step
        ? [
            part(words.input, step.input),
            step.error ? h("p", { class: "bad" }, step.error) : null,
            part(words.output, step.output),
            step.message ? h("p", {}, step.message) : null,
          ]
        : h("p", { class: "dim" }, words.notRun),
    );
  }

  step(name) {
    return this.app.talk.steps.get(`${this.flow?.id}/${name}`);
  }

  /** Which steps have run, which one does, and what it asks. */
  draw() {
    if (!this.flow || !this.place) return;
    const { talk, session } = this.app;
    const mine = session.agent === this.flow.agent;
    for (const [name, box] of this.boxes) box.dataset.state = stateOf(this.step(name), talk);
    this.tell();
    const asking = mine ? talk.items.filter((item) => item.kind in ASKING && !item.answer) : [];
    const told = mine && talk.items.length > 0;
    // Put in again, a form that somebody fills in would lose what is in it.
    const known = [told, ...asking.map((item) => item.id)].join(" ");
    if (known === this.known) return;
    this.known = known;
    const link = h("p", {}, h("a", { href: "#/chat" }, this.app.words.toTalk));
    const cards = asking.map((item) => this.card(item).element);
    put(this.asked, cards, told ? link : null);
  }

  card(item) {
    let card = this.cards.get(item.id);
    if (!card) {
      card = new ASKING[item.kind](item, this.app);
      card.update(item);
      this.cards.set(item.id, card);
    }
    return card;
  }
}

function stateOf(step, talk) {
  if (!step) return "";
  if (step.error) return "failed";
  if (step.output !== undefined) return "done";
  return talk.running || talk.questions.length ? "running" : "";
}
