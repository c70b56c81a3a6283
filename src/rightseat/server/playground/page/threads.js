// The kept conversations: groups by date, search, and what can be done with each.

import { h, put } from "./dom.js";
import { group, short } from "./dates.js";
import { icon } from "./icons.js";
import { listKeys, phoneCloser, searchBox } from "./lists.js";
import { openMenu } from "./menu.js";
import { toast } from "./toast.js";
import { COMMAND } from "./welcome.js";
import * as server from "./server.js";
import { MessageSearch, marked } from "./thread_search.js";
import { threadSearch } from "./thread_words.js";

const GROUPS = ["today", "yesterday", "week", "older"];

export class Threads {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.found = [];
    // Deleted or archived here a moment ago: the way back is still open.
    this.hidden = new Set();
    this.list = h("div", { class: "scroll" }, h("p", { class: "dim small pad" }, words.loading));
    this.search = searchBox(threadSearch(words, `${COMMAND}K`), () => this.draw());
    this.messages = new MessageSearch(() => this.draw());
    const begin = { type: "button", class: "icon", "aria-label": words.newThread, title: words.newThread };
    const title = h(
      "div",
      { class: "title" },
      h("h2", { class: "grow" }, words.threads),
      h("button", { ...begin, dataset: { begin: "" }, onclick: () => app.begin() }, icon("edit")),
      phoneCloser(app),
    );
    const place = h("span", { class: "cut" }, location.host);
    const version = h("span", { class: "dim" }, app.about.version);
    const foot = h(
      "div",
      { class: "foot row" },
      h("span", { class: "dot ok" }),
      place,
      h("span", { class: "grow" }),
      version,
    );
    this.element = h(
      "aside",
      {
        class: "list",
        "aria-label": words.threads,
        onkeydown: (event) => listKeys(event, this.search.input),
      },
      h("div", { class: "head" }, title, this.search.element),
      this.list,
      foot,
    );
  }

  async show() {
    const { words } = this.app;
    try {
      const { threads, more } = await server.threads();
      this.found = threads;
      this.more = more;
      this.messages.forget();
      this.seen = this.current()?.updatedAt;
      this.draw();
      this.app.chat.titled();
    } catch (error) {
      const told = error.status ? error.message : words.offline;
      put(this.list, h("p", { class: "dim small pad", role: "status" }, told));
    }
    this.app.views.threads?.draw();
  }

  draw() {
    const { words } = this.app;
    // Whoever is renaming one is not disturbed.
    if (this.list.querySelector("form")) return;
    const focused = document.activeElement?.closest?.(".list li")?.dataset.thread;
    const asked = this.search.input.value.trim();
    this.messages.ask(asked);
    const hits = this.messages.hits(asked);
    const shown = this.shown(asked, this.found, hits);
    const none = h(
      "p",
      { class: "dim small pad" },
      asked ? words.ofThreads.noneFound(asked) : words.noThreads,
    );
    const all =
      this.more || asked ? h("a", { class: "it", href: "#/threads" }, words.ofThreads.allThreads) : null;
    const entries = shown.length ? this.groups(shown, (one) => this.entry(one, asked, hits)) : none;
    put(this.list, this.messages.busy && !shown.length ? null : entries, this.messages.note(words), all);
    if (focused) this.list.querySelector(`[data-thread="${CSS.escape(focused)}"] .thread`)?.focus();
  }

  /** Those with the text in their title or, by `hits`, in what was said. */
  shown(asked = "", found = this.found, hits = new Map()) {
    const text = asked.toLowerCase();
    const known = new Set(found.map((one) => one.id));
    const others = [...hits.values()].filter((one) => !known.has(one.id));
    return [...found, ...others].filter(
      (one) =>
        !this.hidden.has(one.id) &&
        (!text || hits.has(one.id) || this.name(one).toLowerCase().includes(text)),
    );
  }

  groups(threads, entry, heading = "h3") {
    const { words } = this.app;
    return GROUPS.map((name) => [name, threads.filter((one) => group(new Date(one.updatedAt)) === name)])
      .filter(([, members]) => members.length)
      .map(([name, members]) =>
        h(
          "section",
          { "aria-label": words.ofThreads[name] },
          h(heading, { class: "group" }, words.ofThreads[name]),
          h("ul", { class: "threads" }, members.map(entry)),
        ),
      );
  }

  name(thread) {
    return thread.name || this.app.words.ofThreads.untitled;
  }

  when(thread) {
    return short(new Date(thread.updatedAt), this.app.language);
  }

  current() {
    return this.found.find((one) => one.id === this.app.session.thread);
  }

  /** The name of the conversation that is shown; before the server has one, its first words. */
  title() {
    const first = this.app.talk.items.find((item) => item.kind === "message" && item.role === "user");
    return this.current()?.name || first?.text.slice(0, 80) || "";
  }

  /** Whether somebody else has gone on with the conversation that is shown. */
  async grown() {
    const { threads } = await server.threads().catch(() => ({ threads: [] }));
    const now = threads.find((one) => one.id === this.app.session.thread)?.updatedAt;
    return Boolean(now && this.seen && now !== this.seen);
  }

  entry(thread, asked, hits) {
    const name = this.name(thread);
    const snippet = hits.get(thread.id)?.snippet;
    const open = h(
      "button",
      {
        type: "button",
        class: snippet ? "it thread said" : "it thread",
        title: name,
        "aria-current": thread.id === this.app.session.thread ? "true" : null,
        onclick: () => this.open(thread),
      },
      h("span", { class: "cut" }, marked(name, asked)),
      h("span", { class: "when" }, this.when(thread)),
      snippet ? h("span", { class: "snippet tiny dim" }, marked(snippet, asked)) : null,
    );
    const item = h(
      "li",
      { dataset: { thread: thread.id } },
      open,
      this.menuButton(thread, () => item),
    );
    item.addEventListener("keydown", (event) => this.key(event, thread, item));
    return item;
  }

  /** The button of a conversation's menu; `item()` is where its name is edited. */
  menuButton(thread, item) {
    const { words } = this.app;
    const label = words.ofThreads.moreOf(this.name(thread));
    const props = { type: "button", class: "icon sm mo", "aria-haspopup": "menu", "aria-label": label };
    const button = h("button", { ...props, onclick: () => this.menu(button, thread, item()) });
    button.append(icon("more", "s fat"));
    return button;
  }

  menu(button, thread, item) {
    const { words } = this.app;
    const away = thread.archived
      ? { label: words.ofThreads.unarchive, icon: "box", act: () => this.restore(thread) }
      : { label: words.ofThreads.archive, icon: "box", key: "E", act: () => this.archive(thread, item) };
    const entries = [
      { label: words.rename, icon: "edit", key: "F2", act: () => this.rename(thread, item) },
      away,
      null,
      { label: words.remove, icon: "trash", key: "⌫", bad: true, act: () => this.remove(thread, item) },
    ];
    openMenu(button, entries, { label: this.name(thread) });
  }

  key(event, thread, item) {
    if (event.target.tagName === "INPUT" || event.metaKey || event.ctrlKey || event.altKey) return;
    const act = { F2: "rename", Delete: "remove", Backspace: "remove", e: "archive" }[event.key];
    if (!act) return;
    event.preventDefault();
    this[act](thread, item);
  }

  open(thread) {
    this.app.frame.list(false);
    this.app.go("chat", thread.agentId, thread.id);
  }

  rename(thread, item) {
    const { words } = this.app;
    const before = [...item.childNodes];
    const name = h("input", { class: "input", "aria-label": words.rename, required: true, maxlength: 80 });
    name.value = thread.name ?? "";
    let ended = false;
    const end = async (keep) => {
      if (ended) return;
      ended = true;
      const text = name.value.trim();
      const focused = item.contains(document.activeElement);
      put(item, before);
      if (focused) item.querySelector("button")?.focus();
      if (!keep || !text || text === thread.name) return;
      await this.change(() => server.rename(thread.id, text));
    };
    const send = (event) => {
      event.preventDefault();
      end(true);
    };
    const key = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      end(false);
    };
    put(item, h("form", { class: "renaming", onsubmit: send, onkeydown: key }, name));
    name.addEventListener("blur", () => end(true));
    name.focus();
    name.select();
  }

  /** Deleted on the server only when the way back has closed. */
  remove(thread, item) {
    this.hide(thread, item, this.app.words.ofThreads.deleted, () => server.remove(thread.id));
  }

  archive(thread, item) {
    this.hide(thread, item, this.app.words.ofThreads.archived, () => server.archive(thread.id, true));
  }

  restore(thread) {
    return this.change(() => server.archive(thread.id, false));
  }

  hide(thread, item, told, act) {
    const { words, session } = this.app;
    const next = item.nextElementSibling ?? item.previousElementSibling;
    const beside = next?.dataset.thread;
    const shown = thread.id === session.thread;
    this.hidden.add(thread.id);
    this.redraw();
    if (shown) this.app.begin();
    else this.refocus(beside, item);
    const back = () => {
      this.hidden.delete(thread.id);
      this.redraw();
      if (shown) this.open(thread);
      else this.refocus(thread.id, item);
    };
    const kept = async () => {
      await this.change(act);
      this.hidden.delete(thread.id);
    };
    toast(told(this.name(thread)), { undo: back, undoWord: words.ofThreads.undo, kept });
  }

  /** The focus goes to the one beside, where `item` was. */
  refocus(id, item) {
    const place = item.closest(".all") ? this.app.views.threads.element : this.element;
    const found = id && place.querySelector(`[data-thread="${CSS.escape(id)}"] .thread`);
    (found || place.querySelector("input")).focus();
  }

  redraw() {
    this.draw();
    this.app.views.threads?.draw();
  }

  async change(act) {
    try {
      await act();
    } catch (error) {
      this.app.chat.tell(error.status ? error.message : this.app.words.offline);
    }
    await this.app.views.threads?.load();
    await this.show();
  }
}
