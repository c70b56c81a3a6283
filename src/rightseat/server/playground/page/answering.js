// Who answers: the assistant, its model, its tools, and what that model can do.

import { h, copier } from "./dom.js";
import { icon } from "./icons.js";
import { learn } from "./words.js";

learn("en", {
  ofAnswering: {
    toolCount: (n) => (n === 1 ? "1 tool" : `${n} tools`),
    changeModel: (name) => `Model: ${name}. Connect another`,
    ofModel: {
      tools: "Calls tools",
      images: "Takes images",
      reasoning: "Reasons",
      schema: "Valid arguments",
    },
    notOfModel: { tools: "No tools", images: "No images", reasoning: "No reasoning" },
    audioOfModel: "Takes audio",
    builtIn: "built in",
    knowsLittle: "Knows little",
    onMachine: "On this machine",
    byProvider: (name) => `Answered by ${name}`,
    contextOf: (n) => `${n} context`,
    staysHere: "no data leaves it",
    connectModel: "Connect a model",
  },
});
learn("zh", {
  ofAnswering: {
    toolCount: (n) => `${n} 个工具`,
    changeModel: (name) => `模型：${name}。连接其他模型`,
    ofModel: { tools: "调用工具", images: "支持图片", reasoning: "支持推理", schema: "参数必定有效" },
    notOfModel: { tools: "不能调用工具", images: "不支持图片", reasoning: "不支持推理" },
    audioOfModel: "支持音频",
    builtIn: "内置",
    knowsLittle: "知识有限",
    onMachine: "在本机运行",
    byProvider: (name) => `由 ${name} 回答`,
    contextOf: (n) => `${n} 上下文`,
    staysHere: "数据不出本机",
    connectModel: "连接模型",
  },
});

/** What is known of the assistant that is asked, also where the server does not tell. */
export function known({ about, session }, agent = session.agent) {
  const one = about.assistants.find(({ name }) => name === agent);
  return { name: agent, title: "", models: [], suggestions: [], ...one, ...about.answering?.[agent] };
}

/** The name of what is waited for: a model, or an assistant that has none of its own. */
export function askedName(app) {
  const { title, name, model } = known(app);
  return app.session.model || model?.name || title || name;
}

/** The assistant's select, at the top of a conversation. */
export function whom(app) {
  const { words, about, session } = app;
  const names = about.assistants.map((one) => [one.name, one.title || one.name]);
  // A conversation may be older than a change of the configuration.
  if (!names.some(([name]) => name === session.agent)) names.push([session.agent, session.agent]);
  return chooser(words.assistant, names, session.agent, "pick", (name) => app.begin(name));
}

/** At the composer: the number of tools, and the model. */
export function answering(app) {
  const { words, session } = app;
  const { models, model, tools } = known(app);
  const found = [];
  if (tools) {
    const link = { class: "btn quiet sm", href: "#/plugins" };
    found.push(h("a", link, icon("tool", "xs"), words.ofAnswering.toolCount(tools)));
  }
  if (models.length > 1) {
    const names = models.map((one) => [one, one]);
    const choose = (name) => (session.model = name);
    found.push(chooser(words.model, names, session.model || models[0], "btn quiet sm", choose, "model"));
  } else if (model) {
    const label = words.ofAnswering.changeModel(model.name);
    const link = { class: "btn quiet sm which", href: "#/models", "aria-label": label, title: label };
    found.push(h("a", link, icon("model", "xs"), h("span", { class: "cut" }, model.name)));
  }
  return found;
}

function chooser(label, options, value, look, choose, sign) {
  const entries = options.map(([name, title]) => h("option", { value: name }, title));
  const element = h("select", { "aria-label": label, onchange: () => choose(element.value) }, entries);
  element.value = value;
  return h("span", { class: `choose ${look}` }, sign ? icon(sign, "xs") : null, element, icon("down", "xs"));
}

/** The model card of the welcome. */
export function modelCard(app) {
  const { words, about, language } = app;
  const { model, tools } = known(app);
  if (!model) return null;
  const context = model.context ? words.ofAnswering.contextOf(round(model.context)) : null;
  const where = model.local
    ? [words.ofAnswering.onMachine, context, words.ofAnswering.staysHere]
    : [words.ofAnswering.byProvider(model.provider), context];
  const lines = about.model?.name === model.name ? about.model.lines : [];
  return h(
    "section",
    { class: "now", "aria-label": words.model },
    h(
      "div",
      {},
      h(
        "div",
        { class: "row" },
        h("span", { class: "badge model" }, icon("model")),
        h(
          "div",
          { class: "grow" },
          h(
            "div",
            { class: "row" },
            h("b", { class: "cut", title: model.name }, model.name),
            model.builtin ? h("span", { class: "chip line" }, words.ofAnswering.builtIn) : null,
          ),
          h("div", { class: "small dim cut" }, where.filter(Boolean).join(" · ")),
        ),
        h("a", { class: "btn", href: "#/models" }, words.ofAnswering.connectModel),
      ),
      h("div", { class: "can" }, abilities(model, tools, words)),
      lines.map((line) => h("p", { class: "small mid" }, line[language] ?? line.en)),
    ),
    about.model?.better && lines.length ? better(about.model.better, words) : null,
  );
}

function better(line, words) {
  return h(
    "div",
    { class: "row better" },
    h("span", { class: "grow small" }, `${words.better} `, h("code", {}, line)),
    copier(line, words),
  );
}

const round = (n) => (n >= 1000 ? `${Math.round(n / 1000)}k` : String(n));

function abilities(model, tools, words) {
  const chip = (text, look, sign) =>
    h("span", { class: `chip ${look}` }, sign ? icon(sign, "xs") : null, text);
  const able = model.can.map((one) =>
    chip(words.ofAnswering.ofModel[one] ?? words.ofAnswering.audioOfModel, "ok", "check"),
  );
  const not = model.lacks.map((one) => chip(words.ofAnswering.notOfModel[one], "off"));
  const counted = tools ? chip(words.ofAnswering.toolCount(tools), "tool", "tool") : null;
  return [counted, able, not, model.builtin ? chip(words.ofAnswering.knowsLittle, "warn") : null];
}
