// The models: which one answers now, and another one to connect, to test and to use at once.

import { h, put } from "./dom.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { LocalModels } from "./local_models.js";
import { ModelForm } from "./model_form.js";
import { fill } from "./model_words.js";
import { PROVIDERS, badgeOf } from "./providers.js";
import * as server from "./server.js";

export class ModelsView {
  constructor(app) {
    this.app = app;
    this.inUse = h("span", { class: "chip model desk" });
    this.wrap = h("div", { class: "wrap models" });
    this.element = h(
      "div",
      { class: "view" },
      topbar(app, {}, h("h1", { class: "cut" }, app.words.models), h("span", { class: "grow" }), this.inUse),
      h(
        "div",
        { class: "scroller", tabindex: "0", role: "region", "aria-label": app.words.models },
        this.wrap,
      ),
    );
    this.chosen = "";
  }

  async show() {
    const { words } = this.app;
    if (!this.found) put(this.wrap, h("p", { class: "dim", role: "status" }, words.loading));
    try {
      this.found = await server.get("/playground/models");
    } catch (error) {
      const again = h("button", { type: "button", class: "btn", onclick: () => this.show() }, words.retry);
      const text = error.status ? error.message : words.offline;
      return put(this.wrap, h("p", { class: "bad", role: "alert" }, text), again);
    }
    this.draw();
  }

  draw() {
    const { words } = this.app;
    this.head = h("header", {});
    this.drawHead();
    if (!this.found.admin) return put(this.wrap, this.head, this.refusal());
    const [first] = this.found.providers.filter((one) => one.models?.length && PROVIDERS[one.name].local);
    this.chosen ||= first?.name ?? "ollama";
    this.tiles = h("div", { class: "provs", role: "group", "aria-label": words.providers });
    this.place = h("div", {});
    this.local?.close();
    this.local = new LocalModels(this.app, this.found.local, {
      onUse: (path) => this.useFile(path),
      onCome: (providers) => {
        this.found.providers = providers;
        this.drawTiles();
      },
    });
    put(this.wrap, this.head, this.tiles, this.place, this.local.element);
    this.drawTiles();
    this.open(this.chosen);
  }

  /** What is said of the model that answers now. */
  drawHead() {
    const { words, language } = this.app;
    const { now } = this.found;
    const lines = now.lines.map((line) => line[language] ?? line.en).join(" ");
    put(this.inUse, icon("model", "xs"), fill(words.modelInUse, { name: now.name }));
    put(
      this.head,
      h("h2", { class: "h1" }, words.connectModel),
      h("p", {}, fill(words.modelNow, { name: now.name })),
      lines ? h("p", { class: "small dim" }, lines) : null,
      this.abilities(now),
    );
  }

  abilities({ tools, images, context }) {
    const { words } = this.app;
    const can = (able, word) =>
      able
        ? h("span", { class: "chip ok" }, icon("check", "xs"), word)
        : h("span", { class: "chip off" }, word);
    return h(
      "p",
      { class: "can" },
      can(tools, words.takesTools),
      can(images, words.takesImages),
      context
        ? h("span", { class: "chip" }, fill(words.contextOf, { count: context.toLocaleString() }))
        : null,
    );
  }

  refusal() {
    const { words } = this.app;
    return h(
      "section",
      { class: "card pad notice", role: "status" },
      h("b", {}, icon("lock", "s"), words.notAdmin),
      h("p", { class: "small mid" }, words[`why_${this.found.why}`] ?? this.found.text),
    );
  }

  provider(name) {
    return this.found.providers.find((one) => one.name === name) ?? { name };
  }

  drawTiles() {
    put(
      this.tiles,
      Object.keys(PROVIDERS).map((name) => this.tile(this.provider(name))),
    );
  }

  tile(found) {
    const { words } = this.app;
    const { name, models, variable } = found;
    const chip = this.state(found);
    const count = PROVIDERS[name].local && models?.length;
    const about = count
      ? fill(words.onThisMachine, { count })
      : variable
        ? fill(words.keyFromEnv, { name: variable })
        : words[`d_${name}`];
    return h(
      "button",
      {
        type: "button",
        class: "prov",
        "aria-pressed": String(name === this.chosen),
        dataset: { provider: name },
        onclick: () => this.choose(name),
      },
      h(
        "span",
        { class: "row" },
        h("span", { class: "badge" }, badgeOf(name)),
        h("span", { class: "grow" }),
        chip,
      ),
      h("span", {}, h("b", {}, words[`p_${name}`]), h("small", {}, about)),
    );
  }

  state({ name, models, variable }) {
    const { words } = this.app;
    if (name === "ollama" || name === "lmstudio") {
      return models
        ? h("span", { class: "chip ok" }, words.tagFound)
        : h("span", { class: "chip" }, words.tagNotRunning);
    }
    return variable ? h("span", { class: "chip ok" }, words.tagKeySet) : null;
  }

  choose(name, model = "") {
    this.chosen = name;
    for (const tile of this.tiles.children)
      tile.setAttribute("aria-pressed", String(tile.dataset.provider === name));
    this.open(name, model);
    if (matchMedia("(max-width: 760px)").matches) this.place.scrollIntoView({ block: "start" });
  }

  /** `model`: the one to propose before all others. */
  open(name, model = "") {
    this.form?.close();
    const found = this.provider(name);
    const others = (found.models ?? []).filter((one) => one.name !== model);
    const provider = model ? { ...found, models: [{ name: model }, ...others] } : found;
    this.form = new ModelForm(this.app, this.found, provider, () => this.used());
    put(this.place, this.form.element);
  }

  /** A file of this machine: chosen, and tried at once. */
  useFile(path) {
    this.choose("gguf", path);
    this.form.tryOut();
    this.place.scrollIntoView({ block: "start" });
    this.form.use.focus();
  }

  /** Another model answers: what the page says of it is asked for again. */
  async used() {
    this.found = await server.get("/playground/models");
    this.app.about = await server.get("/playground/about");
    this.drawHead();
    if (!this.app.talk?.running) this.app.redraw?.();
  }
}
