// Tables, charts, files and texts that tools bring beside words.

import { h, put } from "./dom.js";
import { chart } from "./charts.js";
import { figures } from "./figures.js";
import { Prose, link } from "./markdown.js";
import { makeOption } from "./options.js";
import { records, table, value } from "./values.js";

export class ArtifactCard {
  constructor(item, app) {
    this.app = app;
    this.body = h("div");
    const title = h("h3", {}, item.name);
    this.element = h(
      "section",
      { class: `card artifact ${item.type}`, "aria-label": item.name },
      title,
      this.body,
    );
  }

  update(item) {
    this.item = item;
    const about = item.description ? h("p", { class: "dim" }, item.description) : null;
    put(this.body, about, DRAW[item.type]?.(item, this.app.words) ?? value(item.content, this.app.words));
  }

  /** A chart has its colours in it. */
  light() {
    if (this.item.type === "chart") this.update(this.item);
  }
}

const DRAW = {
  table({ content, name }, words) {
    const found = records(content);
    return found ? table(found.columns, found.rows, words, name) : value(content, words);
  },
  chart({ content, name }, words) {
    const option = makeOption(content);
    const place = h("div", {}, h("p", { class: "dim" }, words.loading));
    const shown = figures(option ?? undefined);
    const data = shown ? table(shown.columns, shown.rows, words, name) : value(option, words);
    const below = h("details", {}, h("summary", { class: "dim" }, words.data), data);
    chart(option, name).then(
      (drawn) => put(place, drawn, below),
      () => put(place, h("p", { class: "dim" }, words.noCharts), data),
    );
    return place;
  },
  file({ content, name }, words) {
    const { url, media_type: kind = "", size } = content ?? {};
    const told = size ? `${kind} ${Math.ceil(size / 1024)} KB` : kind;
    const way = url ? link(url, `${words.download} ${name}`, name) : name;
    return h("p", {}, way, h("span", { class: "dim" }, ` ${told}`));
  },
  /** The words of a page: its markup is a stranger's, and this page runs and loads nothing of it. */
  html({ content }) {
    const page = new DOMParser().parseFromString(String(content ?? ""), "text/html");
    for (const code of page.querySelectorAll("script, style")) code.remove();
    return h("pre", {}, page.body.textContent.trim());
  },
  text({ content }) {
    const prose = new Prose();
    prose.show(typeof content === "string" ? content : (content?.text ?? ""));
    return prose.element;
  },
};
