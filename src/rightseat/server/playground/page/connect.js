// What works here and how to mend the rest; how other clients are connected.

import { h, put, copier } from "./dom.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  clients: "Connect a client",
  health: "What works here",
  callDoors: "Call every door as its client would",
  calling: "Calling every door …",
  fix: "Fix",
});
learn("zh", {
  clients: "连接客户端",
  health: "运行状况",
  callDoors: "像客户端一样调用每个接口",
  calling: "正在调用每个接口…",
  fix: "处理方法",
});

const MARKS = { good: "✓", broken: "✗", skipped: "–" };

export class ConnectView {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "page connect" });
  }

  async show(doors = false) {
    const { words } = this.app;
    put(this.element, h("p", { class: "dim", role: "status" }, doors ? words.calling : words.loading));
    try {
      const found = await (doors ? server.post : server.get)("/playground/setup");
      put(
        this.element,
        h("h2", {}, words.clients),
        found.clients.map((one) => this.client(one)),
        h("h2", {}, words.health),
        this.lines(found.lines),
        h("button", { type: "button", onclick: () => this.show(true) }, words.callDoors),
      );
    } catch (error) {
      put(this.element, h("p", { class: "bad", role: "alert" }, error.message));
    }
  }

  client({ name, line }) {
    const copy = copier(() => server.keyed(line), this.app.words);
    return h("section", { class: "card client" }, h("h3", {}, name), h("pre", { tabindex: "0" }, line), copy);
  }

  lines(lines) {
    return h(
      "ul",
      { class: "lines" },
      lines.map((one) => this.line(one)),
    );
  }

  line({ state, what, why, fix }) {
    const mark = h("span", { class: "mark", role: "img", "aria-label": state }, MARKS[state]);
    const mend = h("p", { class: "dim" }, `${this.app.words.fix}: `, h("code", {}, fix));
    const told = [h("strong", {}, what), " ", h("span", {}, why)];
    return h("li", { class: state }, mark, told, fix && state !== "good" ? mend : null);
  }
}
