// What stands around every view: the tabs, who is asked, the language and the light.

import { h, put } from "./dom.js";

export class Frame {
  constructor(app, views) {
    const { words } = app;
    this.app = app;
    this.stage = h("div", { class: "stage" });
    this.tabs = views.map((name) => h("a", { href: `#/${name}`, dataset: { view: name } }, words[name]));
    this.choice = h("div", { class: "row choice" });
    this.looking = this.button(words.inspector, () => this.inspect(), { "aria-pressed": "false" });
    this.menu = this.button("☰", () => this.list(!this.listing), {
      class: "quiet menu",
      "aria-label": words.threads,
      "aria-expanded": "false",
    });
    const dark = () => document.documentElement.dataset.theme === "dark";
    const light = this.button("◐", () => app.light(dark() ? "light" : "dark"), {
      "aria-label": words.theme,
      title: words.theme,
    });
    const [other, code] = app.language === "en" ? ["中文", "zh"] : ["English", "en"];
    this.tongue = this.button(other, () => app.translate(), { lang: code });
    const tools = h("div", { class: "tools" }, this.choice, this.looking, light, this.tongue);
    const nav = h("nav", { class: "tabs", "aria-label": words.menu }, this.tabs);
    const name = h("a", { class: "name", href: "#/chat" }, "rightseat");
    const skip = h("a", { class: "skip", href: "#say", onclick: (event) => this.skip(event) }, words.skip);
    const main = h("main", {}, this.stage);
    this.house = h("div", { class: "house" }, app.threads.element, main, app.inspector.element);
    this.elements = [skip, h("header", {}, this.menu, name, nav, tools), this.house];
    this.picked();
  }

  button(text, onclick, more = {}) {
    return h("button", { type: "button", class: "quiet", onclick, ...more }, text);
  }

  /** Who is asked, and by which model where there are several. */
  picked() {
    const { words, about, session } = this.app;
    const known = about.assistants.find((one) => one.name === session.agent);
    const names = about.assistants.map((one) => [one.name, one.title || one.name]);
    // A conversation may be older than a change of the configuration.
    if (!known) names.push([session.agent, session.agent]);
    const who = select(words.assistant, names, session.agent, (name) => this.app.begin(name));
    const models = known?.models ?? [];
    const choose = (name) => (session.model = name);
    const listed = models.map((one) => [one, one]);
    const which = select(words.model, listed, session.model || models[0], choose);
    put(this.choice, who, models.length > 1 ? which : null);
  }

  show(name, element) {
    // What is there already stays: put in again it would lose the focus.
    if (this.stage.firstChild !== element) put(this.stage, element);
    for (const tab of this.tabs) {
      if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.house.dataset.view = name;
  }

  inspect(tab) {
    const open = this.app.inspector.toggle(tab);
    this.looking.setAttribute("aria-pressed", String(open));
  }

  /** On a phone the list of conversations lies over the page. */
  get listing() {
    return this.house.classList.contains("listing");
  }

  list(open) {
    this.house.classList.toggle("listing", open);
    this.menu.setAttribute("aria-expanded", String(open));
  }

  skip(event) {
    event.preventDefault();
    this.app.go("chat");
    this.app.chat.composer.box.focus();
  }
}

function select(label, options, value, choose) {
  const entries = options.map(([name, title]) => h("option", { value: name }, title));
  const element = h("select", { "aria-label": label, onchange: () => choose(element.value) }, entries);
  element.value = value;
  return element;
}
