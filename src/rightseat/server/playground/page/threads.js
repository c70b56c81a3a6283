// The kept conversations, the newest first.

import { h, put } from "./dom.js";
import * as server from "./server.js";

export class Threads {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.list = h("ul", { class: "threads" }, h("li", { class: "dim" }, words.loading));
    const begin = { type: "button", class: "main wide", onclick: () => app.begin() };
    const button = h("button", begin, words.newThread);
    this.element = h("aside", { class: "list", "aria-label": words.threads }, button, this.list);
  }

  async show() {
    const { words } = this.app;
    try {
      const found = await server.threads();
      this.seen = this.current(found)?.updatedAt;
      // Whoever is renaming one is not disturbed.
      if (this.list.querySelector("form, .danger")) return;
      const focused = document.activeElement?.closest?.(".threads li")?.dataset.thread;
      const entries = found.map((one) => this.entry(one));
      put(this.list, entries.length ? entries : h("li", { class: "dim" }, words.noThreads));
      if (focused) entries.find((one) => one.dataset.thread === focused)?.firstChild.focus();
    } catch (error) {
      put(this.list, h("li", { class: "dim" }, error.status ? error.message : words.offline));
    }
  }

  current(found) {
    return found.find((one) => one.id === this.app.session.thread);
  }

  /** Whether somebody else has gone on with the conversation that is shown. */
  async grown() {
    const found = await server.threads().catch(() => []);
    const now = this.current(found)?.updatedAt;
    return Boolean(now && this.seen && now !== this.seen);
  }

  entry(thread) {
    const { words } = this.app;
    const name = thread.name ?? thread.id.slice(0, 8);
    const open = h(
      "button",
      {
        type: "button",
        class: "thread",
        title: name,
        "aria-current": thread.id === this.app.session.thread ? "true" : null,
        onclick: () => this.open(thread),
      },
      name,
    );
    const small = (word, sign, act) => {
      const props = { type: "button", class: "quiet", "aria-label": `${word}: ${name}`, title: word };
      return h("button", { ...props, onclick: () => act(item, thread) }, sign);
    };
    const rename = small(words.rename, "✎", (...given) => this.rename(...given));
    const remove = small(words.remove, "×", (...given) => this.sure(...given));
    const item = h("li", { dataset: { thread: thread.id } }, open, rename, remove);
    return item;
  }

  open(thread) {
    this.app.frame.list(false);
    this.app.go("chat", thread.agentId, thread.id);
  }

  /** The list as it is now, however the form in it ended. */
  async done() {
    put(this.list);
    await this.show();
  }

  rename(item, thread) {
    const { words } = this.app;
    const value = thread.name ?? "";
    const name = h("input", { "aria-label": words.rename, value, required: true, maxlength: 80 });
    const send = async (event) => {
      event.preventDefault();
      await this.change(item, () => server.rename(thread.id, name.value));
    };
    put(
      item,
      h("form", { onsubmit: send }, name, h("button", { class: "quiet" }, words.save), this.cancel()),
    );
    name.select();
  }

  cancel() {
    return h("button", { type: "button", class: "quiet", onclick: () => this.done() }, this.app.words.cancel);
  }

  async change(item, act) {
    try {
      await act();
      await this.done();
    } catch (error) {
      put(item, h("p", { class: "bad", role: "alert" }, error.message), this.cancel());
    }
  }

  /** Asked in the page: a dialog of the browser's would stop a running answer's drawing. */
  sure(item, thread) {
    const { words } = this.app;
    const remove = async () => {
      await server.remove(thread.id);
      if (thread.id === this.app.session.thread) this.app.begin();
    };
    const yes = { type: "button", class: "danger", onclick: () => this.change(item, remove) };
    const button = h("button", yes, words.remove);
    put(item, h("span", {}, words.removeSure), button, this.cancel());
    button.focus();
  }
}
