// The plugins: what each has, what is wrong with it, and its operations to try by hand.

import { folded, h, put } from "./dom.js";
import { form } from "./forms.js";
import { QuestionCard } from "./questions.js";
import { parsed, value } from "./values.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  noPlugins: "No plugins are loaded. Start with --plugins FOLDER, or make one: rightseat plugins new NAME.",
  tryIt: "Try",
  request: "Request",
  result: "Result",
  allFine: "No problems found.",
  problems: "Problems",
  operations: "Operations",
  asModel: "As a model sees it",
  trying: "Calling …",
  confirms: "needs approval",
});
learn("zh", {
  noPlugins: "没有加载插件。用 --plugins 目录 启动，或新建：rightseat plugins new 名称。",
  tryIt: "试用",
  request: "请求",
  result: "结果",
  allFine: "没有问题。",
  problems: "问题",
  operations: "操作",
  asModel: "模型所见",
  trying: "正在调用…",
  confirms: "需要确认",
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
      if (given) this.call({ arguments: given });
    };
    const short = tool.description.split("\n")[0].slice(0, 120);
    const asks = tool.confirm ? h("small", { class: "dim" }, ` (${words.confirms})`) : null;
    const summary = h("summary", {}, h("code", {}, tool.name), asks, " ", h("span", { class: "dim" }, short));
    const model = h("span", { class: "dim" }, words.asModel);
    const schema = folded({}, model, () => value(tool.parameters, words));
    const entry = h("form", { onsubmit: send }, this.fields.element, this.button);
    this.element = h("details", { class: "operation" }, summary, schema, entry, this.out);
  }

  async call(more) {
    put(this.out, h("p", { class: "dim" }, this.words.trying));
    this.button.disabled = true;
    try {
      put(this.out, this.told(await server.post("/playground/try", { tool: this.tool.name, ...more })));
    } catch (error) {
      put(this.out, h("p", { class: "bad", role: "alert" }, error.message));
    } finally {
      this.button.disabled = false;
    }
  }

  told({ requests, asks = [], result, failed, ms }) {
    const { words } = this;
    const shown = requests.length ? [h("h4", {}, words.request), requests.map(request)] : null;
    if (asks.length) return [shown, this.questions(asks)];
    const text = h("div", { class: failed ? "bad" : null }, value(parsed(result), words));
    return [shown, h("h4", {}, `${words.result} (${ms} ms)`), text];
  }

  /** What the call asks a person first: it goes on when all of it is answered. */
  questions(asks) {
    const given = new Map();
    const answer = (item, { payload, status }) => {
      given.set(item.id, { id: item.id, payload, status });
      if (given.size === asks.length) this.call({ answers: [...given.values()] });
    };
    return asks.map((item) => {
      const card = new QuestionCard(item, { words: this.words, answer });
      card.update(item);
      return card.element;
    });
  }
}

function request({ method, url, headers, body }) {
  const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}`);
  return h("pre", { tabindex: "0" }, [`${method} ${url}`, ...lines, "", body].join("\n"));
}
