// The flows of every plugin: a list, the chosen one drawn, and its run beside it. While one runs its step is lit.

import { Canvas } from "./canvas.js";
import { h, put } from "./dom.js";
import { listVisits, runState, runTime, takenLines } from "./flowrun.js";
import { topbar } from "./frame.js";
import { FlowGraph, loadLayout } from "./graph.js";
import { icon } from "./icons.js";
import { Listing } from "./listing.js";
import { RunPanel, seconds } from "./runpanel.js";
import "./flowwords.js";
import * as server from "./server.js";
import { problemText } from "./server_words.js";

const MOST_RUNS = 50;
/** The runs that were started on this page, the last one first: {flow, text, at, agent, thread, talk}. */
const runs = [];
let opened = "";

export class FlowsView {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.listing = new Listing(app, {
      title: words.flows,
      hint: words.findFlow,
      choose: (entry) => this.open(entry.flow),
    });
    this.list = this.listing.element;
    this.panel = new RunPanel(app, {
      run: (text) => this.run(text),
      stop: () => app.stop(),
      look: (name, at) => this.look(name, at),
      reopen: (run) => this.select(run),
      close: () => this.sheet(false),
    });
    this.canvas = new Canvas(words, () => this.covered());
    this.title = h("h1", { class: "cut" });
    this.plugin = h("span", { class: "chip cut desk" });
    this.about = h("p", { class: "about small mid" });
    const show = { type: "button", class: "icon phone runopen", "aria-label": words.runPanel };
    this.opener = h("button", { ...show, onclick: () => this.sheet(true) }, icon("play"));
    const bar = topbar(
      app,
      { list: words.allFlows },
      this.title,
      this.plugin,
      h("span", { class: "grow" }),
      this.opener,
    );
    this.steps = h("div", { class: "scroller plain", hidden: true });
    this.body = h("div", { class: "body" }, this.canvas.element, this.steps, this.panel.element);
    this.element = h("div", { class: "view flows" });
    this.whole = [bar, this.about, this.body];
    this.selected = null;
  }

  async show() {
    const { words } = this.app;
    if (!this.plugins) put(this.element, h("p", { class: "wrap dim", role: "status" }, words.loading));
    try {
      const all = await server.get("/playground/flows");
      this.plugins = all.filter((plugin) => plugin.flows.length || plugin.broken.length);
    } catch (error) {
      put(this.element, h("p", { class: "wrap bad", role: "alert" }, error.message));
      return;
    }
    this.listing.show(this.plugins.map((plugin) => this.group(plugin)));
    const flows = this.plugins.flatMap((plugin) => plugin.flows);
    const flow = flows.find((one) => one.id === opened) ?? flows[0];
    if (!flow) {
      put(
        this.element,
        topbar(this.app, { list: words.allFlows }),
        h("p", { class: "wrap dim" }, words.noFlows),
      );
      return;
    }
    if (this.element.firstChild !== this.whole[0]) put(this.element, this.whole);
    await this.open(flow);
  }

  group({ name, flows, broken }) {
    const entry = (flow) => ({
      id: flow.id,
      flow: { ...flow, plugin: name },
      title: flow.name,
      text: `${flow.name} ${flow.description}`,
      inner: () => [h("span", { class: "cut" }, flow.name), this.last(flow)],
    });
    const notes = broken.map((one) => h("p", { class: "bad tiny problem" }, problemText(one, this.app)));
    return { name, entries: flows.map(entry), notes };
  }

  /** How the last run of a flow ended. */
  last(flow) {
    const run = runs.find((one) => one.flow === flow.id);
    const state = run && runState(run.talk);
    const [look, name] =
      { done: ["ok", "check"], failed: ["bad", "x"], asking: ["warn", "hand"] }[state] ?? [];
    return look
      ? h("span", { class: `lastrun ${look}`, title: this.app.words[`state_${state}`] }, icon(name, "xs"))
      : null;
  }

  async open(flow) {
    const { words } = this.app;
    const plugin = this.plugins.find((one) => one.flows.some(({ id }) => id === flow.id));
    this.flow = flow;
    opened = flow.id;
    this.selected = null;
    this.listing.mark(flow.id);
    put(this.title, flow.name);
    this.title.title = flow.name;
    put(this.plugin, plugin.name);
    put(this.about, flow.description);
    this.about.title = flow.description;
    this.about.hidden = !flow.description;
    this.graph = new FlowGraph(flow, this.app, (name) => this.look(name));
    this.panel.open(flow);
    this.sheet(true);
    this.canvas.show(
      this.graph,
      `${words.flowOf} ${flow.name}, ${flow.boxes.length} ${words.stepsOf}`,
      flow.boxes[0]?.name,
    );
    this.draw();
    await this.arrange(this.graph);
  }

  /** Gives everything its place, which needs the library. */
  async arrange(graph) {
    try {
      const layout = await loadLayout();
      if (graph !== this.graph) return;
      graph.place(layout);
      this.canvas.fit();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      if (graph !== this.graph) return;
      this.canvas.element.hidden = true;
      this.steps.hidden = false;
      put(this.steps, h("p", { class: "dim small" }, this.app.words.noLayout), graph.list());
    }
    this.draw();
  }

  run(text) {
    const { session } = this.app;
    const said = text || this.flow.description || this.flow.name;
    session.fresh(this.flow.agent);
    this.app.changed();
    const { agent, thread, talk } = session;
    runs.unshift({ flow: this.flow.id, text: said, at: Date.now(), agent, thread, talk });
    runs.length = Math.min(runs.length, MOST_RUNS);
    this.select(runs[0]);
    session.say(said);
  }

  select(run) {
    this.selected = run;
    this.panel.open(this.flow);
    this.panel.input.value = run.text;
    this.draw();
  }

  /** The run that is shown: the chosen one, else what the conversation did with this flow. */
  shown() {
    const { session } = this.app;
    const { agent, thread, talk } = session;
    for (const run of runs) if (run.thread === thread) run.talk = talk;
    const run = this.selected;
    if (run) return { ...run, live: run.thread === thread };
    const mine = agent === this.flow.agent && talk.items.length > 0;
    return mine ? { agent, thread, talk, live: true } : null;
  }

  look(name, at = -1) {
    this.panel.look(name);
    this.panel.at = at;
    this.sheet(true);
    this.draw();
  }

  /** On a phone the panel is a sheet over the canvas. */
  sheet(open) {
    this.panel.element.toggleAttribute("data-shut", !open);
    this.opener.classList.toggle("off", open);
    if (!open) this.opener.focus();
    this.canvas?.resized();
  }

  /** How much of the canvas is behind the sheet. */
  covered() {
    const panel = this.panel.element;
    if (getComputedStyle(panel).position !== "absolute") return 0;
    const { bottom } = this.canvas.element.getBoundingClientRect();
    const { top, height } = panel.getBoundingClientRect();
    return height ? Math.max(0, bottom - top) : 0;
  }

  /** Which steps have run, which one does, and along which lines. */
  draw() {
    if (!this.flow || !this.graph) return;
    const run = this.shown();
    const visits = run ? listVisits(run.talk, this.flow) : [];
    const timed = run && runTime(run.talk) !== null;
    const state = run ? runState(run.talk) : "";
    const took = ({ ended, began }) => (timed && ended ? seconds(ended - began) : "");
    this.graph.mark({
      states: this.states(visits, state),
      times: new Map(visits.map((visit) => [visit.name, took(visit)])),
      taken: takenLines(this.flow, visits),
      over: visits.length > 0 && (state === "done" || state === "failed" || state === "stopped"),
      looked: this.panel.looked,
    });
    this.panel.draw(
      run,
      runs.filter((one) => one.flow === this.flow.id),
    );
    if (state !== this.told) this.listing.fill();
    this.told = state;
  }

  states(visits, state) {
    const states = new Map(visits.map((visit) => [visit.name, visit.state]));
    const ends = visits.length > 0 && state === "done" && this.graph.nodes.has("end") && !states.has("end");
    return ends ? states.set("end", "done") : states;
  }
}
