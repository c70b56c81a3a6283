// The list beside a view: a title, a search, and the entries in groups. Names stay on one line.

import { h, put } from "./dom.js";
import { phoneCloser, searchBox } from "./lists.js";
import { learn } from "./words.js";

learn("en", { listNoMatch: "Nothing found for" });
learn("zh", { listNoMatch: "没有找到" });

/** `hint` names what the search looks at; `choose(entry)` is called with the chosen one. An entry has `id`, `title` (the
 * tooltip), `text` (what is searched), `inner` (elements) and may have `class`; a group has `name` and `entries`. */
export class Listing {
  constructor(app, { title, hint, choose, extra = null, foot = null }) {
    this.app = app;
    this.choose = choose;
    this.groups = [];
    this.chosen = "";
    this.count = h("span", { class: "dim count" });
    const search = searchBox({ label: hint, shortcut: "/" }, () => this.fill());
    this.input = search.input;
    this.input.dataset.find = "";
    this.place = h("div", {
      class: "scroll",
      role: "group",
      "aria-label": title,
      onkeydown: (event) => this.walk(event),
    });
    this.element = h(
      "aside",
      { class: "list", "aria-label": title },
      h(
        "div",
        { class: "head" },
        h(
          "div",
          { class: "title" },
          h("span", { class: "grow" }, title, " ", this.count),
          extra,
          phoneCloser(app, () => this.close()),
        ),
        search.element,
      ),
      this.place,
      foot,
    );
  }

  show(groups, { counted = true } = {}) {
    this.groups = groups;
    this.count.textContent = counted ? groups.reduce((sum, group) => sum + group.entries.length, 0) : "";
    this.fill();
  }

  fill() {
    const wanted = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (group) => (entry) => {
      const text = `${entry.text} ${group.name}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    };
    const found = this.groups
      .map((group) => ({ ...group, entries: group.entries.filter(fits(group)) }))
      .filter((group) => group.entries.length || (group.notes?.length && !wanted.length));
    const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset.entry : null;
    put(this.place, found.length ? found.map((group) => this.group(group)) : this.nothing());
    this.mark(this.chosen);
    if (focused) this.place.querySelector(`[data-entry="${CSS.escape(focused)}"]`)?.focus();
  }

  nothing() {
    const text = `${this.app.words.listNoMatch} “${this.input.value.trim()}”`;
    return this.input.value.trim() ? h("p", { class: "none dim small", role: "status" }, text) : null;
  }

  group({ name, entries, notes = [] }) {
    const title = h("span", { class: "cut", title: name }, name);
    const head = name ? h("div", { class: "group" }, title, h("span", {}, entries.length)) : null;
    return [head, entries.map((entry) => this.entry(entry)), notes];
  }

  entry(entry) {
    const props = { type: "button", class: `it ${entry.class ?? ""}`.trim(), title: entry.title };
    return h(
      "button",
      { ...props, dataset: { entry: entry.id }, onclick: () => this.pick(entry) },
      entry.inner(),
    );
  }

  pick(entry) {
    this.mark(entry.id);
    this.choose(entry);
    if (this.element.hasAttribute("data-open")) this.close();
  }

  mark(id) {
    this.chosen = id;
    for (const one of this.place.querySelectorAll("[data-entry]")) {
      if (one.dataset.entry === id) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
  }

  /** On a phone: away with the list, back to the button that opens it. */
  close() {
    this.app.frame.list(false);
    this.app.frame.stage.querySelector(".topbar .icon.phone")?.focus();
  }

  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...this.place.querySelectorAll(".it")];
    all[all.indexOf(document.activeElement) + step]?.focus();
  }
}

// A slash leads into the search of the list that is shown.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const input = document.querySelector(".list [data-find]");
  if (!input?.checkVisibility()) return;
  event.preventDefault();
  input.focus();
});
