// The plugins: what each has, what is wrong with it, and its operations to try by hand.

import { h, put } from "./dom.js";
import { form } from "./forms.js";
import { parsed, value } from "./values.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  noPlugins: "No plugins are loaded. Start with --plugins FOLDER, or make one: rightseat plugins new NAME.",
  tryIt: "Try",
  request: "Request",
  result: "Result",
  allFine: "Nothing is wrong with it.",
  problems: "What is wrong",
  sure: "Call it",
  operations: "Operations",
  asModel: "As a model sees it",
  calling1: "Calling …",
  needsMore: "It needs to know more:",
  confirms: "asks first",
});
learn("zh", {
  noPlugins: "没有加载插件。用 --plugins 目录 启动，或新建：rightseat plugins new 名称。",
  tryIt: "试用",
  request: "请求",
  result: "结果",
  allFine: "没有问题。",
  problems: "问题",
  sure: "确认调用",
  operations: "操作",
  asModel: "模型所见",
  calling1: "正在调用…",
  needsMore: "还需要以下信息：",
  confirms: "先询问",
});

export class PluginsView {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "page plugins" });
  }

  async show() {
    const { words } = this.app;
    put(this.element, h("p", { class: "dim" }, words.loading));
    try {
      const found = await server.get("/playground/plugins");
      put(
        this.element,
        found.length ? found.map((one) => this.plugin(one)) : h("p", { class: "dim" }, words.noPlugins),
      );
    } catch (error) {
      put(this.element, h("p", { class: "bad", role: "alert" }, error.message));
    }
  }

  plugin({ id, name, description, problems, tools }) {
    const { words } = this.app;
    const problem = ({ gravity, text }) => h("li", { class: gravity === "error" ? "bad" : "dim" }, text);
    const wrong = h("ul", { class: "problems" }, problems.map(problem));
    return h(
      "section",
      { class: "card plugin" },
      h("h2", {}, name, h("small", { class: "dim" }, ` ${id}`)),
      h("p", {}, description),
      h("h3", {}, words.problems),
      problems.length ? wrong : h("p", { class: "dim" }, words.allFine),
      h("h3", {}, words.operations),
      tools.map((tool) => new Operation(tool, words).element),
    );
  }
}

/** One operation, with a form to try it. */
class Operation {
  constructor(tool, words) {
    this.tool = tool;
    this.words = words;
    this.fields = form(tool.parameters, words);
    this.out = h("div", { class: "out", "aria-live": "polite" });
    this.button = h("button", { class: "main" }, words.tryIt);
    const send = (event) => {
      event.preventDefault();
      const given = this.fields.value();
      if (given) this.call(given, false);
    };
    const short = tool.description.split("\n")[0].slice(0, 120);
    const asks = tool.confirm ? h("small", { class: "dim" }, ` (${words.confirms})`) : null;
    const summary = h("summary", {}, h("code", {}, tool.name), asks, " ", h("span", { class: "dim" }, short));
    const schema = h(
      "details",
      {},
      h("summary", { class: "dim" }, words.asModel),
      value(tool.parameters, words),
    );
    const entry = h("form", { onsubmit: send }, this.fields.element, this.button);
    this.element = h("details", { class: "operation" }, summary, schema, entry, this.out);
  }

  async call(given, approved) {
    put(this.out, h("p", { class: "dim" }, this.words.calling1));
    this.button.disabled = true;
    try {
      const body = { tool: this.tool.name, arguments: given, approved };
      put(this.out, this.answer(await server.post("/playground/try", body), given, approved));
    } catch (error) {
      put(this.out, h("p", { class: "bad", role: "alert" }, error.message));
    } finally {
      this.button.disabled = false;
    }
  }

  answer({ confirm, requests = [], asks = [], result, failed, ms }, given, approved) {
    const { words } = this;
    if (confirm) return this.sure(confirm, given);
    const shown = requests.length ? [h("h4", {}, words.request), requests.map(request)] : null;
    const more = asks.map((ask) => this.more(ask, given, approved));
    if (result === undefined) return [shown, more];
    const text = h("div", { class: failed ? "bad" : null }, value(parsed(result), words));
    return [shown, h("h4", {}, `${words.result} (${ms} ms)`), text];
  }

  sure(question, given) {
    const yes = { type: "button", class: "main", onclick: () => this.call(given, true) };
    return h("div", { class: "card question" }, h("p", {}, question), h("button", yes, this.words.sure));
  }

  /** What the call asks a person for goes into its arguments. */
  more({ message, schema }, given, approved) {
    const fields = form(schema, this.words);
    const send = (event) => {
      event.preventDefault();
      const told = fields.value();
      if (told) this.call({ ...given, ...told }, approved);
    };
    const text = [h("p", {}, this.words.needsMore), h("p", {}, message)];
    const button = h("button", { class: "main" }, this.words.tryIt);
    return h("form", { class: "card question", onsubmit: send }, text, fields.element, button);
  }
}

function request({ method, url, headers, body }) {
  const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}`);
  return h("pre", { tabindex: "0" }, [`${method} ${url}`, ...lines, "", body].join("\n"));
}
