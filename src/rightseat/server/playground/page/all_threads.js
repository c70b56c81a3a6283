// All conversations: searched, with those that were put away.

import { h, put } from "./dom.js";
import { known } from "./answering.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { listKeys, searchBox } from "./lists.js";
import { MessageSearch, marked } from "./thread_search.js";
import { threadSearch } from "./thread_words.js";
import * as server from "./server.js";

const MOST = 5000;

export class ThreadsView {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.found = [];
    this.count = h("span", { class: "dim tiny", role: "status" });
    this.search = searchBox(threadSearch(words, "Esc"), () => this.draw());
    this.messages = new MessageSearch(() => this.draw());
    this.archived = h("input", { type: "checkbox", onchange: () => this.load() });
    this.body = h("div", {}, h("p", { class: "dim" }, words.loading));
    const begin = { type: "button", class: "btn ink", onclick: () => app.begin() };
    const bar = topbar(
      app,
      {},
      h("h1", {}, words.threads),
      this.count,
      h("span", { class: "grow" }),
      h("button", begin, icon("edit", "xs"), words.newThread),
    );
    const boxes = h(
      "div",
      { class: "row" },
      h("div", { class: "grow" }, this.search.element),
      h("label", { class: "row small tap" }, this.archived, words.ofThreads.withArchived),
    );
    const keys = (event) => listKeys(event, this.search.input);
    const wrap = h("div", { class: "wrap all", onkeydown: keys }, boxes, this.body);
    this.element = h("div", { class: "view" }, bar, h("div", { class: "scroller" }, wrap));
  }

  async show() {
    await this.load();
  }

  /** All of them, page by page: the search looks through every title. */
  async load() {
    const { words } = this.app;
    let found = [];
    try {
      for (let from = "0"; from && found.length < MOST;) {
        const page = await server.threads({ from, archived: this.archived.checked });
        found = [...found, ...page.threads];
        from = page.more;
      }
    } catch (error) {
      put(this.body, h("p", { class: "bad", role: "alert" }, error.status ? error.message : words.offline));
      return;
    }
    this.found = found;
    this.messages.forget();
    this.draw();
  }

  draw() {
    const { threads, words } = this.app;
    if (this.body.querySelector("form")) return;
    const focused = document.activeElement?.closest?.(".all li")?.dataset.thread;
    const asked = this.search.input.value.trim();
    this.messages.ask(asked, { archived: this.archived.checked });
    const hits = this.messages.hits(asked);
    const shown = threads.shown(asked, this.found, hits);
    const all = threads.shown("", this.found).length;
    this.count.textContent = words.ofThreads.foundOf(shown.length, all);
    const none = h("p", { class: "dim" }, asked ? words.ofThreads.noneFound(asked) : words.noThreads);
    const entries = shown.length ? threads.groups(shown, (one) => this.entry(one, asked, hits), "h2") : none;
    put(this.body, this.messages.busy && !shown.length ? null : entries, this.messages.note(words));
    if (focused) this.body.querySelector(`[data-thread="${CSS.escape(focused)}"] .thread`)?.focus();
  }

  entry(thread, asked, hits) {
    const snippet = hits.get(thread.id)?.snippet;
    const { app } = this;
    const { threads, words } = app;
    const name = threads.name(thread);
    const { title, name: agent } = known(app, thread.agentId);
    const open = {
      type: "button",
      class: snippet ? "it thread said" : "it thread",
      title: name,
      onclick: () => threads.open(thread),
    };
    const button = h(
      "button",
      open,
      h("b", { class: "cut" }, marked(name, asked)),
      thread.archived ? h("span", { class: "chip line" }, words.ofThreads.archivedMark) : null,
      h("span", { class: "grow" }),
      h("span", { class: "chip sq desk" }, h("span", { class: "cut" }, title || agent)),
      h("span", { class: "when" }, threads.when(thread)),
      snippet ? h("span", { class: "snippet small dim" }, marked(snippet, asked)) : null,
    );
    const item = h(
      "li",
      { dataset: { thread: thread.id } },
      button,
      threads.menuButton(thread, () => item),
    );
    item.addEventListener("keydown", (event) => threads.key(event, thread, item));
    return item;
  }
}
