// The front ends: how each is connected, step by step, with lines that run as they are copied; what works here.

import { lineOf, stepOf } from "./connect_steps.js";
import { h, put } from "./dom.js";
import { Listing } from "./listing.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { fill } from "./model_words.js";
import * as server from "./server.js";

const GROUPS = ["apps", "product", "agents"];
const ENDPOINTS = {
  OpenAI: "openai",
  OpenBB: "openbb",
  CopilotKit: "copilotkit",
  "AG-UI": "agui",
  MCP: "mcp",
};

export class ConnectView {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.foot = h("div", { class: "foot row", role: "status" });
    this.listing = new Listing(app, {
      title: words.clients,
      hint: words.searchClients,
      choose: ({ id }) => this.open(this.found.clients.find((one) => one.id === id)),
      foot: this.foot,
    });
    this.list = this.listing.element;
    this.bar = h("div", {});
    this.wrap = h("div", { class: "wrap narrow" });
    this.element = h(
      "div",
      { class: "view connect" },
      this.bar,
      h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": words.clients }, this.wrap),
    );
  }

  async show() {
    const { words } = this.app;
    if (!this.found) {
      put(this.bar, topbar(this.app, { list: words.clients }, h("h1", {}, words.connect)));
      put(this.wrap, h("p", { class: "dim", role: "status" }, words.loading));
      try {
        this.found = await server.get("/playground/setup");
      } catch (error) {
        return put(this.wrap, this.failure(error));
      }
      this.keyed = this.found.needs_key;
      // Whoever has gone to another view meanwhile keeps its address.
      if (this.app.frame.view !== this) return undefined;
    }
    const wanted = decodeURIComponent(location.hash.split("/")[2] ?? "");
    return this.open(
      this.found.clients.find((one) => one.id === wanted) ?? this.client ?? this.found.clients[0],
    );
  }

  failure(error) {
    const { words } = this.app;
    const again = h("button", { type: "button", class: "btn", onclick: () => this.show() }, words.retry);
    return h(
      "div",
      { class: "col" },
      h("p", { class: "bad", role: "alert" }, error.status ? error.message : words.offline),
      again,
    );
  }

  open(client) {
    this.client = client;
    history.replaceState(null, "", `#/connect/${encodeURIComponent(client.id)}`);
    this.drawList();
    this.draw();
  }

  drawList() {
    const { words } = this.app;
    const groups = GROUPS.map((group) => ({
      name: words[`group_${group}`],
      entries: this.found.clients.filter((one) => one.group === group).map((one) => entryOf(one)),
    }));
    this.listing.show(groups, { counted: false });
    this.listing.mark(this.client.id);
  }

  draw() {
    const { words, language } = this.app;
    const { title, protocol, about } = this.client;
    put(
      this.bar,
      topbar(
        this.app,
        { list: words.clients },
        h("h1", { class: "cut" }, title),
        h("span", { class: "chip desk" }, protocol),
        h("span", { class: "grow" }),
        this.modes(),
      ),
    );
    put(
      this.wrap,
      h(
        "header",
        {},
        h("h2", { class: "h1" }, fill(words.connectTo, { name: title })),
        h("p", {}, about[language]),
      ),
      h("ol", { class: "stepn" }, this.steps(), this.check()),
      this.health(),
    );
  }

  modes() {
    const { words } = this.app;
    const mode = (keyed, label, sign) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(this.keyed === keyed), onclick: () => this.choose(keyed) },
        sign,
        label,
      );
    return h(
      "div",
      { class: "seg", role: "group", "aria-label": words.keyMode },
      mode(true, words.withKey, icon("key", "xs")),
      mode(false, words.withoutKey),
    );
  }

  choose(keyed) {
    this.keyed = keyed;
    this.draw();
    this.bar.querySelector("[aria-pressed='true']").focus();
  }

  textOf(step) {
    return this.keyed ? step.text.key : step.text.open;
  }

  steps() {
    const steps = this.client.steps.filter((step) => this.textOf(step));
    return steps.map((step, index) => stepOf(this.app, step, this.textOf(step), index + 1));
  }

  /** The requests that this front end sends first, as the server sends them to itself. */
  check() {
    const { words } = this.app;
    const number = this.client.steps.filter((step) => this.textOf(step)).length + 1;
    this.checks = h("ul", { class: "checks", "aria-live": "polite" });
    this.button = h(
      "button",
      { type: "button", class: "btn", onclick: () => this.test() },
      icon("bolt", "xs"),
      words.checkClients,
    );
    if (this.tested) this.drawChecks();
    return h(
      "li",
      {},
      h("span", { class: "no", "aria-hidden": "true" }, String(number)),
      h(
        "div",
        {},
        h("h3", { class: "lab" }, words.checkIt),
        h("p", { class: "mid small" }, words.checkHint),
        h("div", { class: "card pad col checkbox" }, this.checks, this.button),
      ),
    );
  }

  async test() {
    const { words } = this.app;
    this.button.disabled = true;
    put(this.checks, h("li", {}, h("span", { class: "spin" }), words.calling));
    try {
      this.tested = (await server.post("/playground/setup")).lines;
      this.drawChecks();
    } catch (error) {
      put(
        this.checks,
        h("li", { class: "bad", role: "alert" }, error.status ? error.message : words.offline),
      );
    }
    this.button.disabled = false;
    this.button.focus();
  }

  drawChecks() {
    const { words } = this.app;
    const calls = this.tested.filter((line) => line.what.includes(": ") && line.state !== "skipped");
    const good = calls.filter((line) => line.state === "good").length;
    const name = ENDPOINTS[this.client.protocol];
    put(
      this.checks,
      calls.filter((line) => line.what.startsWith(`${name}: `)).map((line) => lineOf(this.app, line)),
    );
    const tone = good === calls.length ? "dot ok" : "dot bad";
    put(this.foot, h("span", { class: tone }), fill(words.endpointsAnswer, { good, all: calls.length }));
  }

  health() {
    const { words } = this.app;
    return h(
      "details",
      { class: "card health" },
      h("summary", { class: "row" }, icon("right", "xs"), h("b", {}, words.health)),
      h(
        "ul",
        { class: "checks pad" },
        this.found.lines.map((line) => lineOf(this.app, line)),
      ),
    );
  }
}

function entryOf({ id, title, protocol, badge }) {
  const inner = () => [
    h("span", { class: "badge sm" }, badge),
    h(
      "span",
      { class: "col name" },
      h("span", { class: "cut" }, title),
      h("span", { class: "tiny dim" }, protocol),
    ),
  ];
  return { id, title, text: `${title} ${protocol}`, class: "two", inner };
}
