// An agent's state: as it is, and what each node made of it.

import { h, put } from "./dom.js";
import { tree } from "./values.js";
import { learn } from "./words.js";

learn("en", {
  state: "State",
  noState: "This run has no state. An agent that keeps one, such as a LangGraph, shows it here.",
  stateNow: "Now",
  nodes: "Node by node",
});
learn("zh", {
  state: "状态",
  noState: "本次运行没有状态。有状态的智能体（如 LangGraph）会显示在这里。",
  stateNow: "当前",
  nodes: "逐节点",
});

export class State {
  constructor(app) {
    this.app = app;
    this.element = h("div");
  }

  show(talk) {
    const { words } = this.app;
    const visits = talk.visits.filter((one) => one.state && one.state !== one.before);
    const known = `${talk.log.length} ${talk.node}`;
    // Nothing new: what somebody has folded stays folded.
    if (known === this.known) return;
    this.known = known;
    if (!talk.state) {
      put(this.element, h("p", { class: "dim" }, words.noState));
      return;
    }
    const node = talk.node ? h("p", {}, "▶ ", h("strong", {}, talk.node)) : null;
    const now = h("section", { class: "now" }, h("h3", {}, words.stateNow), node);
    now.append(tree(talk.state, talk.stateBefore ?? undefined));
    put(this.element, now, visits.length ? [h("h3", {}, words.nodes), visits.map(visit)] : null);
  }
}

function visit({ name, state, before }) {
  const summary = h("summary", {}, h("strong", {}, name));
  return h("details", { class: "node" }, summary, tree(state, before ?? undefined));
}
