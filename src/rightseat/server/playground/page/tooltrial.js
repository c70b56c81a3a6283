// A tool called by hand: a form made from its schema, the request that was sent, and what came back.

import { h, put } from "./dom.js";
import { form } from "./forms.js";
import { icon } from "./icons.js";
import { json } from "./json.js";
import { QuestionCard } from "./questions.js";
import { parsed, records, table } from "./values.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  tryOut: "Try it",
  toolAsModel: "As a model sees it",
  asksFirst: "asks first",
  toolCall: "Call",
  toolCallHint: "runs with the rules and limits of a model's call",
  toolCalling: "Calling …",
  rawRequest: "Request",
  rawResponse: "Response",
  toolAsTable: "Table",
  toolNoAnswer: "The answer will be shown here.",
  toolNoRequest: "No HTTP request was sent.",
});
learn("zh", {
  tryOut: "试用",
  toolAsModel: "模型所见",
  asksFirst: "需要确认",
  toolCall: "调用",
  toolCallHint: "与模型调用时的规则和限制相同",
  toolCalling: "正在调用…",
  rawRequest: "请求",
  rawResponse: "响应",
  toolAsTable: "表格",
  toolNoAnswer: "结果会显示在这里。",
  toolNoRequest: "没有发送 HTTP 请求。",
});

/** Buttons of which one is pressed; `choose(name)` is called with its name. */
export function segments(options, chosen, choose) {
  const press = (event) => {
    for (const one of element.children) one.setAttribute("aria-pressed", String(one === event.currentTarget));
    choose(event.currentTarget.dataset.name);
  };
  const button = ([name, word]) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(name === chosen), dataset: { name }, onclick: press },
      word,
    );
  const element = h("div", { class: "seg" }, options.map(button));
  return element;
}

export class Trial {
  constructor(tool, app) {
    const { words } = app;
    this.tool = tool;
    this.words = words;
    this.fields = form(tool.parameters, words);
    this.out = h(
      "div",
      { class: "col pad out", "aria-live": "polite" },
      h("p", { class: "dim small" }, words.toolNoAnswer),
    );
    this.button = h("button", { class: "btn ink" }, icon("play", "xs"), words.toolCall);
    const send = (event) => {
      event.preventDefault();
      const given = this.fields.value();
      if (given) this.call({ arguments: given });
    };
    const entry = h(
      "form",
      { class: "col pad", onsubmit: send },
      this.fields.element,
      h("div", { class: "row" }, this.button, h("span", { class: "tiny dim" }, words.toolCallHint)),
    );
    const sides = { try: h("div", { class: "split" }, entry, this.out), model: this.model() };
    const body = h("div", {}, sides.try);
    const options = [
      ["try", words.tryOut],
      ["model", words.toolAsModel],
    ];
    this.element = h(
      "section",
      { class: "card trial operation", "aria-label": tool.name },
      h(
        "div",
        { class: "row" },
        h("h2", { class: "cut mono", title: tool.name }, tool.name),
        tool.confirm ? h("span", { class: "chip sq human desk" }, words.asksFirst) : null,
        h("span", { class: "grow" }),
        segments(options, "try", (name) => put(body, sides[name])),
      ),
      body,
    );
  }

  model() {
    const { name, description, parameters } = this.tool;
    return h("div", { class: "model" }, json({ name, description, parameters }));
  }

  async call(more) {
    const { words } = this;
    put(this.out, h("p", { class: "dim small" }, words.toolCalling));
    this.button.disabled = true;
    try {
      this.show(await server.post("/playground/try", { tool: this.tool.name, ...more }));
    } catch (error) {
      put(this.out, h("p", { class: "bad small", role: "alert" }, error.message));
    } finally {
      this.button.disabled = false;
    }
  }

  show({ requests, asks = [], result, failed, ms }) {
    const { words } = this;
    if (asks.length) {
      put(this.out, this.questions(asks));
      return;
    }
    const data = parsed(result);
    const rows = records(data);
    const body = h("div", {});
    const sides = {
      response: () => [
        failed ? h("p", { class: "bad small" }, data?.error?.message ?? words.failed) : null,
        json(data),
      ],
      request: () =>
        requests.length ? requests.map(request) : h("p", { class: "dim small" }, words.toolNoRequest),
      table: () => table(rows.columns, rows.rows, words, this.tool.name),
    };
    const options = [
      ["response", words.rawResponse],
      ["request", words.rawRequest],
      ...(rows ? [["table", words.toolAsTable]] : []),
    ];
    const choose = (name) => put(body, sides[name]());
    choose("response");
    put(
      this.out,
      h(
        "div",
        { class: "row" },
        segments(options, "response", choose),
        h("span", { class: "grow" }),
        h("span", { class: failed ? "chip bad" : "chip ok" }, failed ? words.failed : words.done),
        h("span", { class: "tiny dim num" }, `${ms} ms`),
      ),
      body,
    );
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
  return json([`${method} ${url}`, ...lines, "", body].join("\n"));
}
