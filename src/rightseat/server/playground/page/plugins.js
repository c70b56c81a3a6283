// The plugins: what each has, what is wrong with it, and its tools to try by hand.

import { method } from "./api.js";
import { h, put } from "./dom.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { Listing } from "./listing.js";
import { problemText } from "./server_words.js";
import { Trial } from "./tooltrial.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  noPlugins: "No plugins are loaded. Start with --plugins FOLDER, or make one: rightseat plugins new NAME.",
  allPlugins: "All plugins",
  findPlugin: "Plugin or tool",
  oneTool: "1 tool",
  manyTools: "tools",
  oneFlow: "1 flow",
  manyFlows: "flows",
  didNotLoad: "did not load",
  nothingInside: "no tools",
  allFine: "no problems",
  oneProblem: "1 problem",
  manyProblems: "problems",
  checkAgain: "Check again",
  noTools: "This plugin has no tools.",
});
learn("zh", {
  noPlugins: "没有加载插件。用 --plugins 目录 启动，或新建：rightseat plugins new 名称。",
  allPlugins: "全部插件",
  findPlugin: "插件或工具",
  oneTool: "1 个工具",
  manyTools: "个工具",
  oneFlow: "1 个流程",
  manyFlows: "个流程",
  didNotLoad: "加载失败",
  nothingInside: "没有工具",
  allFine: "没有问题",
  oneProblem: "1 个问题",
  manyProblems: "个问题",
  checkAgain: "重新检查",
  noTools: "此插件没有工具。",
});

const counted = (number, one, many) => (number === 1 ? one : `${number} ${many}`);
let opened = "";

export class PluginsView {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.listing = new Listing(app, {
      title: words.plugins,
      hint: words.findPlugin,
      choose: (entry) => this.open(entry.plugin),
    });
    this.list = this.listing.element;
    this.element = h("div", { class: "view plugins" });
    this.trials = new Map();
  }

  async show() {
    const { words } = this.app;
    if (!this.plugins) put(this.element, h("p", { class: "wrap dim", role: "status" }, words.loading));
    try {
      const [plugins, flows] = await Promise.all(
        ["plugins", "flows"].map((name) => server.get(`/playground/${name}`)),
      );
      const flowsOf = new Map(flows.map((one) => [one.id, one.flows]));
      this.plugins = plugins.map((plugin) => ({ ...plugin, flows: flowsOf.get(plugin.id) ?? [] }));
    } catch (error) {
      put(this.element, h("p", { class: "wrap bad", role: "alert" }, error.message));
      return;
    }
    this.listing.show([{ name: "", entries: this.plugins.map((plugin) => this.entry(plugin)) }]);
    const plugin = this.plugins.find((one) => one.id === opened) ?? this.plugins[0];
    if (plugin) this.open(plugin);
    else
      put(
        this.element,
        topbar(this.app, { list: words.allPlugins }),
        h("p", { class: "wrap dim" }, words.noPlugins),
      );
  }

  entry(plugin) {
    const { id, name, description, tools, flows } = plugin;
    const names = [...tools, ...flows].map((one) => `${one.name} ${one.description}`);
    return {
      id,
      plugin,
      class: "two",
      title: name,
      text: [name, id, description, ...names].join(" "),
      inner: () => [
        h("span", { class: "badge sm", "aria-hidden": "true" }, [...name][0]),
        h(
          "span",
          { class: "col grow" },
          h("span", { class: "cut" }, name),
          h("span", { class: "tiny dim cut" }, this.contents(plugin)),
        ),
        this.sign(plugin),
      ],
    };
  }

  contents({ tools, flows, problems }) {
    const { words } = this.app;
    const parts = [
      tools.length ? counted(tools.length, words.oneTool, words.manyTools) : "",
      flows.length ? counted(flows.length, words.oneFlow, words.manyFlows) : "",
    ];
    const nothing = problems.length ? words.didNotLoad : words.nothingInside;
    return parts.filter(Boolean).join(" · ") || nothing;
  }

  look({ problems }) {
    if (problems.some((one) => one.gravity === "error")) return ["bad", "x"];
    return problems.length ? ["warn", "warn"] : ["ok", "check"];
  }

  told({ problems }) {
    const { words } = this.app;
    return problems.length ? counted(problems.length, words.oneProblem, words.manyProblems) : words.allFine;
  }

  sign(plugin) {
    const [look, name] = this.look(plugin);
    const told = this.told(plugin);
    return h(
      "span",
      { class: `sign ${look}`, title: told },
      icon(name, "s"),
      h("span", { class: "sr" }, told),
    );
  }

  open(plugin) {
    const { words } = this.app;
    opened = plugin.id;
    this.listing.mark(plugin.id);
    const [look, name] = this.look(plugin);
    const again = h(
      "button",
      { type: "button", class: "btn", onclick: () => this.show() },
      icon("retry", "xs"),
      words.checkAgain,
    );
    const bar = topbar(
      this.app,
      { list: words.allPlugins },
      h("h1", { class: "cut", title: plugin.name }, plugin.name),
      h("span", { class: `chip ${look} desk` }, icon(name, "xs"), this.told(plugin)),
      h("span", { class: "dim tiny cut desk" }, plugin.id),
      h("span", { class: "grow" }),
      again,
    );
    this.place = h("div", {});
    this.tools = h("div", { class: "card tools" });
    const inner = h(
      "div",
      { class: "wrap plugin" },
      plugin.description ? h("p", { class: "mid lead" }, plugin.description) : null,
      this.problems(plugin),
      this.tools,
      this.place,
    );
    put(this.element, bar, h("div", { class: "body" }, h("div", { class: "scroller" }, inner)));
    this.fill(plugin);
  }

  problems({ problems }) {
    if (!problems.length) return null;
    const entry = (problem) => {
      const [look, name] = problem.gravity === "error" ? ["bad", "x"] : ["warn", "warn"];
      return h("li", { class: look }, icon(name, "s"), h("span", {}, problemText(problem, this.app)));
    };
    return h("ul", { class: "card problems" }, problems.map(entry));
  }

  fill(plugin) {
    const { words } = this.app;
    const { tools, flows } = plugin;
    const names = flows.map((flow) => flow.name).join(", ");
    const told = flows.length ? `${counted(flows.length, words.oneFlow, words.manyFlows)}: ${names}` : "";
    const head = h(
      "div",
      { class: "row" },
      h(
        "span",
        { class: "over" },
        tools.length ? counted(tools.length, words.oneTool, words.manyTools) : words.noTools,
      ),
      h("span", { class: "grow" }),
      h("span", { class: "tiny dim cut desk", title: told }, told),
    );
    const all = tools.map((tool) => this.tool(tool));
    put(this.tools, head, h("div", { class: "all" }, all));
    if (tools.length) this.choose(tools[0]);
  }

  tool(tool) {
    const { words } = this.app;
    const first = tool.description.split("\n")[0];
    return h(
      "button",
      {
        type: "button",
        class: "it",
        title: tool.name,
        dataset: { tool: tool.name },
        onclick: () => this.choose(tool),
      },
      tool.method ? method(tool.method) : icon("tool", "s"),
      h(
        "span",
        { class: "cut" },
        tool.path ? [h("code", { class: "path" }, tool.path), " "] : null,
        h("span", { class: "name" }, first || tool.name),
        " ",
        h("code", { class: "dim desk" }, tool.name),
      ),
      tool.confirm ? h("span", { class: "chip sq human" }, words.asksFirst) : null,
    );
  }

  choose(tool) {
    for (const one of this.tools.querySelectorAll("[data-tool]")) {
      if (one.dataset.tool === tool.name) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
    // What was entered for a tool stays while another one is looked at.
    if (!this.trials.has(tool.name)) this.trials.set(tool.name, new Trial(tool, this.app));
    put(this.place, this.trials.get(tool.name).element);
  }
}
