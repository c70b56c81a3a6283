// The test of a model: each check as a line, with its time or what is wrong.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { faultOf, fill } from "./model_words.js";
import { seconds } from "./providers.js";
import * as server from "./server.js";

const CHECKS = ["reached", "answers", "tool", "images"];
const SIGNS = { good: ["ok", "check"], broken: ["bad", "x"], skipped: ["off", "minus"] };

export class Trial {
  constructor(app) {
    this.app = app;
    this.chip = h("span", {});
    this.list = h("ul", { class: "checks", "aria-live": "polite" });
    this.element = h(
      "section",
      { class: "col trial", "aria-label": app.words.testModel },
      h("div", { class: "row" }, h("h3", { class: "h2 grow" }, app.words.testModel), this.chip),
      this.list,
    );
    this.running = null;
    this.reset();
  }

  /** Nothing is tried yet. */
  reset() {
    this.stop();
    put(this.chip);
    put(this.list, h("li", { class: "dim" }, this.app.words.testHint));
  }

  stop() {
    this.running?.abort();
    this.running = null;
  }

  async run(form) {
    this.stop();
    const mine = (this.running = new AbortController());
    const lines = new Map();
    const draw = (done) => this.draw(lines, done);
    draw(false);
    try {
      for await (const line of server.lines("/playground/models-test", form, mine.signal)) {
        lines.set(line.check, line);
        draw(false);
      }
      draw(true);
    } catch (error) {
      if (mine.signal.aborted) return false;
      put(this.chip);
      const text = error.status
        ? faultOf({ code: error.code, text: error.message }, this.app)
        : this.app.words.offline;
      put(this.list, h("li", { class: "bad", role: "alert" }, text));
      return false;
    } finally {
      if (this.running === mine) this.running = null;
    }
    return [...lines.values()].every((line) => line.state !== "broken");
  }

  draw(lines, done) {
    const { words } = this.app;
    const next = CHECKS.find((name) => !lines.has(name));
    put(
      this.list,
      CHECKS.map((name) => (lines.has(name) ? this.line(lines.get(name)) : this.wait(name, name === next))),
    );
    const broken = [...lines.values()].some((line) => line.state === "broken");
    if (broken) put(this.chip, h("span", { class: "chip bad" }, icon("x", "xs"), words.testsFailed));
    else if (done) put(this.chip, h("span", { class: "chip ok" }, icon("check", "xs"), words.testsPassed));
    else put(this.chip);
  }

  wait(name, current) {
    const sign = current ? h("span", { class: "spin" }) : h("span", { class: "st off" });
    return h("li", { dataset: { check: name } }, sign, h("span", {}, this.app.words[`c_${name}`]));
  }

  line(line) {
    const { words } = this.app;
    const [tone, sign] = SIGNS[line.state];
    const said = words[`r_${line.code}`];
    const time = seconds(line.ms);
    const broken = line.state === "broken";
    const end = broken ? words.r_failed : said ? fill(said, { time }) : time;
    return h(
      "li",
      { class: line.state, dataset: { check: line.check } },
      h("span", { class: `st ${tone}` }, icon(sign)),
      h("span", {}, words[`c_${line.check}`]),
      h("span", { class: "tm num" }, end),
      broken ? h("p", { class: "why" }, faultOf(line, this.app)) : null,
    );
  }
}
