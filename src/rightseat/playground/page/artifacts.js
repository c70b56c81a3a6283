// Tables, charts, files and texts that tools bring beside words.

import { h, put } from "./dom.js";
import { chart } from "./charts.js";
import { Prose, link } from "./markdown.js";
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
    put(this.body, DRAW[item.type]?.(item, this.app.words) ?? value(item.content, this.app.words));
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
    const place = h("div", {}, h("p", { class: "dim" }, words.loading));
    const missing = () => [h("p", { class: "dim" }, words.noCharts), value(data(content), words)];
    chart(content?.option ?? content, name).then(
      (drawn) => put(place, drawn),
      () => put(place, missing()),
    );
    return place;
  },
  file({ content, name }, words) {
    const { url, media_type: kind = "", size } = content ?? {};
    const told = size ? `${kind} ${Math.ceil(size / 1024)} KB` : kind;
    const way = url ? link(url, `${words.download} ${name}`, name) : name;
    return h("p", {}, way, h("span", { class: "dim" }, ` ${told}`));
  },
  text({ content }) {
    const prose = new Prose();
    prose.show(typeof content === "string" ? content : (content?.text ?? ""));
    return prose.element;
  },
};

/** What a chart shows, where it says so; else its whole description. */
function data(content) {
  const option = content?.option ?? content;
  return content?.data ?? option?.dataset?.source ?? option;
}
