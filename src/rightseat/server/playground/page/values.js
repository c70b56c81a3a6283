// Data for people: records as a table that can be sorted and saved, anything else as a tree or as text.

import { h, put, download } from "./dom.js";

const MANY = 200;

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

/** A table: a click on a column sorts by it, and it can be saved. */
export function table(columns, rows, words, name = "table") {
  let sorted = { column: -1, down: false };
  const body = h("tbody");
  const heads = columns.map((title, number) =>
    h(
      "th",
      { scope: "col", "aria-sort": "none" },
      h("button", { type: "button", onclick: () => sort(number) }, title),
    ),
  );
  let limit = MANY;
  const more = h("button", { type: "button", class: "quiet", onclick: () => ((limit += 1000), fill()) });
  function sort(column) {
    sorted = { column, down: sorted.column === column && !sorted.down };
    heads.forEach((head, number) =>
      head.setAttribute("aria-sort", number !== column ? "none" : sorted.down ? "descending" : "ascending"),
    );
    fill();
  }
  function fill() {
    const order =
      sorted.column < 0
        ? rows
        : [...rows].sort((a, b) => (sorted.down ? -1 : 1) * compared(a[sorted.column], b[sorted.column]));
    put(
      body,
      order.slice(0, limit).map((row) =>
        h(
          "tr",
          {},
          row.map((cell) => h("td", { class: typeof cell === "number" ? "number" : null }, plain(cell))),
        ),
      ),
    );
    more.hidden = rows.length <= limit;
    more.textContent = `${words.more} (${rows.length - limit})`;
  }
  fill();
  const save = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => download(`${name}.csv`, csv(columns, rows), "text/csv"),
    },
    words.downloadCsv,
  );
  return h(
    "div",
    { class: "table" },
    h("div", { class: "scroll", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)),
    h("div", { class: "row" }, more, h("span", { class: "dim" }, `${rows.length} ${words.rows}`), save),
  );
}

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
