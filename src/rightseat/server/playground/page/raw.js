// The events of a run as they came.

import { copier, folded, h, put } from "./dom.js";
import { seconds } from "./timeline.js";
import { learn } from "./words.js";

learn("en", { raw: "Raw events", filter: "Filter events" });
learn("zh", { raw: "原始事件", filter: "筛选事件" });

const MOST = 500;

export class Raw {
  constructor(app) {
    const { words } = app;
    const props = { "aria-label": words.filter, placeholder: words.filter };
    this.app = app;
    this.filter = h("input", { ...props, oninput: () => this.show(app.talk, true) });
    this.list = h("ol", { class: "raw" });
    this.more = h("p", { class: "dim" });
    const copy = copier(() => JSON.stringify(events(app.talk).map(({ event }) => event)), words);
    this.element = h("div", {}, h("div", { class: "row" }, this.filter, copy), this.list, this.more);
  }

  /** New ones are put below: what somebody has opened stays open. */
  show(talk, anew = false) {
    if (anew || this.run !== talk.run) {
      put(this.list);
      this.run = talk.run;
      this.read = 0;
      this.found = 0;
    }
    const all = events(talk);
    for (const one of all.slice(this.read)) this.add(one, talk.run.began);
    this.read = all.length;
    this.more.textContent = this.found > MOST ? `… ${this.found - MOST}` : "";
  }

  add({ event, at }, began) {
    const wanted = this.filter.value.toLowerCase();
    if (wanted && !JSON.stringify(event).toLowerCase().includes(wanted)) return;
    this.found += 1;
    if (this.found > MOST) return;
    const told = event.type === "CUSTOM" ? ` ${event.name}` : "";
    const summary = [h("span", { class: "dim" }, seconds(at - began)), ` ${event.type}${told}`];
    const body = folded({}, summary, () => h("pre", {}, JSON.stringify(event, null, 2)));
    this.list.append(h("li", {}, body));
  }
}

function events({ run, log }) {
  return log.slice(run.from, run.to ?? log.length);
}
