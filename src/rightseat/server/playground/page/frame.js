// What stands around every view: the rail with the places, the list of what is in the place, and the stage.
// A view has `element` (what goes onto the stage) and may have `list` (an <aside class="list">).

import { h, put } from "./dom.js";
import { icon, mark } from "./icons.js";

/** The places, in the order of the rail. On a phone the last two are behind "More". */
export const PLACES = {
  chat: "chat",
  flows: "flow",
  models: "model",
  plugins: "plug",
  connect: "connect",
  api: "api",
};
const BEHIND_MORE = new Set(["connect", "api"]);

export class Frame {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.tabs = Object.entries(PLACES).map(([name, sign]) => this.place(name, sign));
    this.more = h(
      "button",
      { type: "button", class: "go phone", "aria-expanded": "false", onclick: () => this.openMore() },
      icon("more", "fat"),
      h("span", {}, words.moreViews),
    );
    const rail = h(
      "nav",
      { class: "rail", "aria-label": words.menu },
      h("a", { class: "brand", href: "#/chat", "aria-label": "rightseat" }, mark()),
      this.tabs,
      this.more,
      h("span", { class: "fill" }),
      this.switches("icon d"),
    );
    this.stage = h("main", { class: "stage", id: "stage", tabindex: "-1" });
    this.slot = h("div", { class: "slot" });
    this.element = h("div", { class: "app" }, rail, this.slot, this.stage);
    const skip = h("a", { class: "skip", href: "#stage", onclick: (event) => this.skip(event) }, words.skip);
    this.elements = [skip, this.element];
    this.view = null;
  }

  place(name, sign) {
    const props = {
      class: BEHIND_MORE.has(name) ? "go d" : "go",
      href: `#/${name}`,
      dataset: { view: name },
    };
    return h("a", props, icon(sign), h("span", {}, this.app.words[name]));
  }

  /** The theme and the language. */
  switches(kind) {
    const { app } = this;
    const { words } = app;
    const [other, code] = app.language === "en" ? ["中文", "zh"] : ["English", "en"];
    const theme = { type: "button", class: kind, "aria-label": words.theme, title: words.theme };
    const tongue = { type: "button", class: kind, "aria-label": other, title: other, lang: code };
    return [
      h("button", { ...theme, onclick: () => app.light(isDark() ? "light" : "dark") }, icon("sun")),
      h("button", { ...tongue, dataset: { tongue: "" }, onclick: () => app.translate() }, icon("lang")),
    ];
  }

  show(name, view) {
    this.view = view;
    const held = [this.stage, this.slot].some((one) => one.contains(document.activeElement));
    // What is there already stays: put in again it would lose the focus.
    if (this.stage.firstChild !== view.element) put(this.stage, view.element);
    this.refit();
    this.list(false);
    for (const tab of this.tabs) {
      if (tab.dataset.view === (name === "threads" ? "chat" : name)) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.element.dataset.view = name;
    this.name = name;
    this.titled();
    // What had the focus may be gone with the view before.
    if (held && document.activeElement === document.body) this.enter();
  }

  /** The browser's tab has the name of the conversation, or of the place. */
  titled() {
    const { threads, words } = this.app;
    const name = this.name === "chat" ? threads.title() : words[this.name];
    document.title = name ? `${name} · rightseat` : "rightseat";
  }

  /** The list of the view has come or gone. */
  refit() {
    const { list } = this.view;
    if (this.slot.firstChild !== (list ?? null)) put(this.slot, list);
    this.element.classList.toggle("nolist", !list);
  }

  /** On a phone the list lies over the page. */
  get listing() {
    return this.slot.firstChild?.hasAttribute("data-open") ?? false;
  }

  list(open) {
    const list = this.slot.firstChild;
    const held = !open && this.listing && list.contains(document.activeElement);
    list?.toggleAttribute("data-open", open);
    if (open) list?.querySelector("input, button")?.focus();
    // What is hidden cannot keep the focus.
    else if (held) (this.stage.querySelector(".topbar button") ?? this.stage).focus();
  }

  /** On a phone: the places that have no tab, the theme and the language. */
  openMore() {
    const { words } = this.app;
    const close = () => {
      dialog.close();
      dialog.remove();
      this.more.setAttribute("aria-expanded", "false");
    };
    const links = [...BEHIND_MORE].map((name) =>
      h("a", { class: "it", href: `#/${name}`, onclick: close }, icon(PLACES[name]), words[name]),
    );
    const switches = h("div", { class: "row" }, this.switches("icon"));
    // In other words the page is built anew, without this.
    const changed = (event) => event.target.closest("[data-tongue]") && close();
    switches.addEventListener("click", changed, true);
    const dialog = h(
      "dialog",
      { class: "more", "aria-label": words.moreViews, onclose: close },
      h("div", { class: "row" }, h("b", { class: "grow" }, words.moreViews), this.closer(close)),
      links,
      switches,
    );
    document.body.append(dialog);
    dialog.showModal();
    this.more.setAttribute("aria-expanded", "true");
  }

  closer(close) {
    const { words } = this.app;
    return h(
      "button",
      { type: "button", class: "icon", "aria-label": words.close, onclick: close },
      icon("x"),
    );
  }

  skip(event) {
    event.preventDefault();
    this.enter();
  }

  /** The focus goes to where one begins in the view. */
  enter() {
    const { box } = this.app.chat.composer;
    (this.view === this.app.chat && box.isConnected ? box : this.stage).focus();
  }
}

/** The bar at the top of a view. The first button, on a phone only, opens the list. */
export function topbar(app, { list = "" }, ...children) {
  const open = {
    type: "button",
    class: "icon phone",
    "aria-label": list,
    onclick: () => app.frame.list(true),
  };
  return h("div", { class: "topbar" }, list ? h("button", open, icon("menu")) : null, children);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
