// Tables, charts, files and texts that tools bring beside words.

import { h, put, download } from "./dom.js";
import { chart } from "./charts.js";
import { figures } from "./figures.js";
import { icon } from "./icons.js";
import { Prose, link } from "./markdown.js";
import { makeOption } from "./options.js";
import { DataTable, records, value } from "./values.js";
import { learn } from "./words.js";

learn("en", { asChart: "Chart", asTable: "Table" });
learn("zh", { asChart: "图表", asTable: "表格" });

export class ArtifactCard {
  constructor(item, app) {
    this.app = app;
    this.element = h("figure", { class: `card fig artifact ${item.type}`, "aria-label": item.name });
  }

  update(item) {
    this.item = item;
    const { head = [], body } = (DRAW[item.type] ?? DRAW.data)(item, this.app.words);
    const name = h("span", { class: "h cut", title: item.name }, item.name);
    const [count = null, ...tools] = head;
    const about = item.description ? h("span", { class: "dim tiny cut desk" }, item.description) : null;
    put(
      this.element,
      h("div", { class: "head" }, name, count, about, h("span", { class: "grow" }), tools),
      body,
    );
  }

  /** A chart has its colours in it. */
  light() {
    if (this.item.type === "chart") this.update(this.item);
  }
}

const padded = (...inner) => h("div", { class: "figbody" }, inner);

/** The head's parts (what is counted, then tools) and the body of each kind. */
const DRAW = {
  table({ content, name }, words) {
    const found =
      records(content) ?? (Array.isArray(content) && !content.length ? { columns: [], rows: [] } : null);
    if (!found) return { body: padded(value(content, words)) };
    const made = new DataTable(found.columns, found.rows, words, name);
    return { head: [made.count, made.tools], body: made.element };
  },
  chart({ content, name }, words) {
    return drawFigure(makeOption(content), name, words);
  },
  file({ content, name }, words) {
    const { url, media_type: kind = "", size } = content ?? {};
    const told = size ? `${kind} ${Math.ceil(size / 1024)} KB` : kind;
    const way = url ? link(url, `${words.download} ${name}`, name) : name;
    return {
      body: padded(h("p", { class: "row" }, icon("file", "s"), way, h("span", { class: "dim tiny" }, told))),
    };
  },
  /** The words of a page: its markup is a stranger's, and this page runs and loads nothing of it. */
  html({ content }) {
    const page = new DOMParser().parseFromString(String(content ?? ""), "text/html");
    for (const code of page.querySelectorAll("script, style")) code.remove();
    return { body: padded(h("pre", { class: "pre wrapit" }, page.body.textContent.trim())) };
  },
  text({ content }) {
    const prose = new Prose();
    prose.show(typeof content === "string" ? content : (content?.text ?? ""));
    return { body: padded(prose.element) };
  },
  data({ content }, words) {
    return { body: padded(value(content, words)) };
  },
};

/** A chart and its data, one at a time; without ECharts the data. */
function drawFigure(option, name, words) {
  const found = figures(option ?? undefined);
  const made = found ? new DataTable(found.columns, found.rows, words, name) : null;
  const data = made ? made.element : padded(value(option, words));
  const place = h("div", { class: "plot" }, h("p", { class: "figbody dim small" }, words.loading));
  const tools = h("span", { class: "row" }, made?.tools ?? saveOption(option, name, words));
  const show = (drawn) => {
    const choose = (chosen) => {
      put(place, chosen === "chart" ? drawn : data);
      if (made) made.sieve.hidden = chosen === "chart";
      buttons.forEach((one, at) =>
        one.setAttribute("aria-pressed", String((at === 0) === (chosen === "chart"))),
      );
    };
    const button = (kind, sign, label) =>
      h(
        "button",
        { type: "button", "aria-label": label, onclick: () => choose(kind) },
        icon(sign, "xs"),
        h("span", { class: "desk" }, label),
      );
    const buttons = [button("chart", "chart", words.asChart), button("table", "table", words.asTable)];
    tools.prepend(h("div", { class: "seg" }, buttons));
    choose("chart");
  };
  chart(option, name, sentenceOf(name, found)).then(show, () =>
    put(place, h("p", { class: "figbody dim small" }, words.noCharts), data),
  );
  return { head: [null, tools], body: place };
}

function saveOption(option, name, words) {
  const save = () => download(`${name}.json`, JSON.stringify(option), "application/json");
  const label = words.download;
  return h(
    "button",
    { type: "button", class: "icon sm", "aria-label": label, onclick: save },
    icon("down2", "s"),
  );
}

/** A chart's name for whoever cannot see it: what it shows, in words. */
function sentenceOf(name, found) {
  if (!found?.rows.length) return name;
  const rows = found.rows.slice(0, 12).map((row) => row.filter((cell) => cell !== "").join(" "));
  return `${name}: ${rows.join(", ")}${found.rows.length > rows.length ? ", …" : ""}`;
}
