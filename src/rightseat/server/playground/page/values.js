// Data for people: records as a table that can be sorted and saved, anything else as a tree or as text.

import { h, put, download } from "./dom.js";
import { icon } from "./icons.js";
import { learn } from "./words.js";

learn("en", {
  filterRows: "Filter rows",
  countOf: "of",
  oneRow: "row",
  noRows: "No rows",
  noMatch: "Nothing matches",
});
learn("zh", {
  filterRows: "筛选行",
  countOf: "/",
  oneRow: "行",
  noRows: "没有数据",
  noMatch: "没有匹配：",
});

const MANY = 200;
// Rows of a table at first: the conversation goes on below it.
const FIRST = 10;

/** JSON as what it says; any other text as itself. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function value(data, words) {
  if (data === undefined) return null;
  const rows = records(data);
  if (rows) return table(rows.columns, rows.rows, words);
  if (typeof data === "string")
    return h("pre", { tabindex: "0" }, data.length > 20_000 ? `${data.slice(0, 20_000)}…` : data);
  if (data !== null && typeof data === "object") return tree(data);
  return h("code", {}, JSON.stringify(data) ?? "");
}

/** Columns and rows, where the data are records or a table already. */
export function records(data) {
  if (Array.isArray(data?.columns) && Array.isArray(data?.rows)) {
    const columns = data.columns.map((one) =>
      typeof one === "object" ? (one.name ?? one.field ?? "") : String(one),
    );
    const rows = data.rows.map((row) => (Array.isArray(row) ? row : columns.map((name) => row[name])));
    return { columns, rows };
  }
  if (
    !Array.isArray(data) ||
    !data.length ||
    !data.every((one) => one && typeof one === "object" && !Array.isArray(one))
  )
    return null;
  const columns = [...new Set(data.flatMap(Object.keys))];
  return { columns, rows: data.map((one) => columns.map((name) => one[name])) };
}

const plain = (cell) =>
  cell === null || cell === undefined ? "" : typeof cell === "object" ? JSON.stringify(cell) : String(cell);

/** A table with its own frame: sorted by a click on a column, filtered, saved. */
export function table(columns, rows, words, name = "table") {
  const made = new DataTable(columns, rows, words, name);
  const head = h("div", { class: "head" }, made.count, h("span", { class: "grow" }), made.tools);
  return h("div", { class: "card fig table" }, head, made.element);
}

/** The parts of a table: `element`, and for its head `count` and `tools`. */
export class DataTable {
  constructor(columns, rows, words, name) {
    Object.assign(this, { columns, rows, words, name, limit: FIRST, sorted: { column: -1, down: false } });
    this.numeric = columns.map((_, at) => rows.length > 0 && rows.every((row) => isNumber(row[at])));
    this.count = h("span", { class: "dim tiny num", role: "status" });
    this.heads = columns.map((title, at) => this.head(title, at));
    this.body = h("tbody");
    this.none = h("p", { class: "none dim small" });
    this.more = h("button", { type: "button", class: "btn quiet sm", onclick: () => this.grow() });
    this.box = h("input", {
      class: "input",
      type: "search",
      "aria-label": words.filterRows,
      placeholder: words.filterRows,
      oninput: () => this.fill(),
    });
    this.search = h("div", { class: "filter", hidden: true }, this.box);
    this.tools = this.buttons();
    const data = h("table", { class: "tbl" }, h("thead", {}, h("tr", {}, this.heads)), this.body);
    const scroll = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name }, data);
    this.element = h("div", {}, this.search, scroll, this.none, this.more);
    this.fill();
  }

  buttons() {
    const button = (sign, label, act, more = {}) =>
      h(
        "button",
        { type: "button", class: "icon sm", "aria-label": label, title: label, onclick: act, ...more },
        icon(sign, "s"),
      );
    const save = () => download(`${this.name}.csv`, csv(this.columns, this.rows), "text/csv");
    this.sieve = button("filter", this.words.filterRows, () => this.toggle(), { "aria-expanded": "false" });
    return [this.rows.length > 1 ? this.sieve : null, button("down2", this.words.downloadCsv, save)];
  }

  head(title, at) {
    const button = h("button", { type: "button", onclick: () => this.sort(at) }, title, icon("updown", "xs"));
    return h("th", { scope: "col", class: this.numeric[at] ? "r" : null, "aria-sort": "none" }, button);
  }

  toggle() {
    this.search.hidden = !this.search.hidden;
    this.sieve.setAttribute("aria-expanded", String(!this.search.hidden));
    if (this.search.hidden) this.box.value = "";
    else this.box.focus();
    this.fill();
  }

  sort(column) {
    this.sorted = { column, down: this.sorted.column === column && !this.sorted.down };
    this.heads.forEach((head, at) => {
      const order = at !== column ? "none" : this.sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", order);
      head
        .querySelector("svg")
        .replaceWith(icon({ none: "updown", ascending: "up", descending: "down" }[order], "xs"));
    });
    this.fill();
  }

  grow() {
    this.limit += 1000;
    this.fill();
  }

  fill() {
    const { words, rows, sorted, limit } = this;
    const wanted = this.box.value.trim().toLowerCase();
    const found = wanted
      ? rows.filter((row) => row.some((cell) => plain(cell).toLowerCase().includes(wanted)))
      : rows;
    const direction = sorted.down ? -1 : 1;
    const order = (a, b) => direction * compared(a[sorted.column], b[sorted.column]);
    const listed = (sorted.column < 0 ? found : [...found].sort(order)).slice(0, limit);
    const cell = (one, at) => h("td", { class: this.numeric[at] ? "r" : null }, plain(one));
    put(
      this.body,
      listed.map((row) => h("tr", {}, row.map(cell))),
    );
    const all = wanted || found.length > limit ? `${listed.length} ${words.countOf} ${rows.length}` : "";
    this.count.textContent = all || `${rows.length} ${rows.length === 1 ? words.oneRow : words.rows}`;
    this.none.hidden = found.length > 0;
    this.none.textContent = rows.length ? `${words.noMatch} “${this.box.value.trim()}”` : words.noRows;
    this.more.hidden = found.length <= limit;
    this.more.textContent = `${words.more} (${found.length - limit})`;
  }
}

const isNumber = (cell) => typeof cell === "number" || cell === null || cell === undefined;

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return plain(a).localeCompare(plain(b), undefined, { numeric: true });
}

/** As spreadsheets read it. A cell that would be taken for a formula is kept from being one. */
function csv(columns, rows) {
  const cell = (one) => {
    const text = typeof one === "string" && /^[=+\-@\t\r]/.test(one) ? `'${one}` : plain(one);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Nested data. What is not as it was in `before` is marked. */
export function tree(data, before, depth = 0) {
  if (data === null || typeof data !== "object") {
    return h(
      "code",
      { class: before !== undefined && before !== data ? "changed" : null },
      JSON.stringify(data) ?? "",
    );
  }
  const entries = Object.entries(data);
  if (!entries.length) return h("code", {}, Array.isArray(data) ? "[]" : "{}");
  return h(
    "ul",
    { class: "tree" },
    entries.slice(0, MANY).map(([name, inner]) => {
      const was = before === undefined ? undefined : (before?.[name] ?? null);
      const isNew =
        before !== undefined && (before === null || typeof before !== "object" || !(name in before));
      const label = h("span", { class: isNew ? "name changed" : "name" }, name);
      if (inner === null || typeof inner !== "object")
        return h("li", {}, label, ": ", tree(inner, was, depth + 1));
      return h(
        "li",
        {},
        h(
          "details",
          { open: depth < 2 },
          h(
            "summary",
            {},
            label,
            h("span", { class: "dim" }, Array.isArray(inner) ? ` [${inner.length}]` : ""),
          ),
          tree(inner, was, depth + 1),
        ),
      );
    }),
    entries.length > MANY ? h("li", { class: "dim" }, `… ${entries.length - MANY}`) : null,
  );
}
