// A run in time: how long until the first word, for each answer, each tool and each step.

import { h, put, download } from "./dom.js";
import { script } from "./script.js";
import { learn } from "./words.js";

learn("en", {
  timeline: "Timeline",
  firstToken: "to the first token",
  total: "in total",
  tokens: "tokens",
  cost: "cost",
  step: "step",
  replayed:
    "This run was loaded from the store, which does not record durations. Ask again to see them.",
  saveTest: "Save as test",
  saveHint: "A script that answers as this conversation did: rightseat serve --model scripted:FILE",
});
learn("zh", {
  timeline: "时间线",
  firstToken: "到首个词元",
  total: "总计",
  tokens: "词元",
  cost: "费用",
  step: "步骤",
  replayed: "本次运行读自存储，其中没有耗时记录。重新提问即可查看。",
  saveTest: "保存为测试",
  saveHint: "一个按本次会话作答的脚本：rightseat serve --model scripted:FILE",
});

export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
const SHOWN = ["message", "call", "reasoning", "nested"];
const SMALLEST = 0.8;

export class Timeline {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.facts = h("p", { class: "facts" });
    this.bars = h("ol", { class: "bars" });
    const save = h("button", { type: "button", onclick: () => this.save() }, words.saveTest);
    const saving = h("div", { class: "row" }, save, h("small", { class: "dim" }, words.saveHint));
    this.element = h("div", {}, this.facts, this.bars, saving);
  }

  show(talk) {
    const { words } = this.app;
    const { run } = talk;
    if (run.replayed) {
      put(this.facts, words.replayed);
      put(this.bars);
      return;
    }
    const end = run.ended ?? Date.now();
    put(this.facts, this.told(run, end).join(" · "));
    put(
      this.bars,
      spans(talk, words, end).map((one) => bar(one, run.began, end)),
    );
  }

  told({ first, began, usage }, end) {
    const { words } = this.app;
    const sum = (name) => (usage ?? []).reduce((all, one) => all + (one[name] ?? 0), 0);
    const cost = sum("cost");
    return [
      first ? `${seconds(first - began)} ${words.firstToken}` : "",
      `${seconds(end - began)} ${words.total}`,
      usage ? `${sum("inputTokens")} + ${sum("outputTokens")} ${words.tokens}` : "",
      cost ? `${words.cost} ${Number(cost.toPrecision(4))}` : "",
    ].filter(Boolean);
  }

  save() {
    const text = `${JSON.stringify(script(this.app.talk), null, 2)}\n`;
    download("run.json", text, "application/json");
  }
}

/** What took time in the last run, in the order in which it began. */
function spans({ run, items, visits }, words, end) {
  const within = ({ began, answered }) => began >= run.began || answered >= run.began;
  const named = { message: words.assistant, reasoning: words.reasoning };
  const things = items
    .filter((item) => SHOWN.includes(item.kind) && within(item))
    .map((item) => ({
      label: item.name ?? named[item.kind],
      from: Math.max(item.began, run.began),
      to: item.answered ?? (item.kind === "call" ? end : item.ended) ?? end,
      kind: item.kind,
    }));
  const steps = visits.filter(within).map(({ name, began, ended }) => ({
    label: `${words.step} ${name}`,
    from: began,
    to: ended ?? end,
    kind: "step",
  }));
  return [...things, ...steps].sort((a, b) => a.from - b.from);
}

function bar({ label, from, to, kind }, began, end) {
  const share = 100 / Math.max(end - began, 1);
  const left = Math.min((from - began) * share, 100 - SMALLEST);
  const fill = h("span", { class: `fill ${kind}` });
  fill.style.left = `${left}%`;
  fill.style.width = `${Math.min(Math.max((to - from) * share, SMALLEST), 100 - left)}%`;
  const took = h("span", { class: "took" }, seconds(to - from));
  return h(
    "li",
    {},
    h("span", { class: "what", title: label }, label),
    h("span", { class: "line" }, fill),
    took,
  );
}
