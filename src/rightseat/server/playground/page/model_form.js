// The form of one provider: its model, address and key; test it, use it, write it to rightseat.toml.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { faultOf, fill } from "./model_words.js";
import { LISTS, PROVIDERS, badgeOf, emptyForm, gigabytes } from "./providers.js";
import * as server from "./server.js";
import { Trial } from "./trial.js";

const OTHER = "\u0000other";
let count = 0;

export class ModelForm {
  constructor(app, found, provider, onUsed) {
    Object.assign(this, { app, found, provider, onUsed });
    this.kind = PROVIDERS[provider.name];
    this.values = emptyForm(provider);
    this.values.write = found.several;
    this.models = provider.models ?? null;
    this.id = `model-form-${count++}`;
    this.trial = new Trial(app);
    this.use = h("button", { type: "submit", class: "btn ink lg cut" });
    this.test = h(
      "button",
      { type: "button", class: "btn lg", onclick: () => this.tryOut() },
      icon("bolt", "xs"),
      app.words.testModel,
    );
    this.told = h("div", { class: "told", role: "status" });
    this.modelField = h("div", { class: "field" });
    this.toml = h("pre", { class: "pre box", tabindex: "0" });
    this.element = h(
      "form",
      { class: "card connect-form", autocomplete: "off", onsubmit: (event) => this.submit(event) },
      h("div", { class: "split" }, this.left(), this.right()),
    );
    this.drawModel();
    this.changed();
  }

  /** The view shows another form: nothing of this one goes on. */
  close() {
    this.trial.stop();
    this.values.api_key = "";
    clearTimeout(this.timer);
  }

  left() {
    const { words } = this.app;
    const { name, base_url } = this.provider;
    const running = this.kind.local && base_url && this.models;
    const where = running ? fill(words.foundAt, { address: new URL(base_url).host }) : words[`d_${name}`];
    const title = h(
      "div",
      { class: "row" },
      h("span", { class: "badge" }, badgeOf(name)),
      h(
        "div",
        { class: "grow" },
        h("h3", { class: "h2" }, words[`p_${name}`]),
        h("div", { class: "tiny dim" }, where),
      ),
    );
    const privacy = this.kind.local ? ["lock", words.staysHere] : ["cloud", words.goesOut];
    return h(
      "div",
      { class: "col side-a" },
      title,
      this.modelField,
      this.kind.address
        ? this.text("base_url", words[this.kind.address], "mono", this.provider.example)
        : null,
      this.kind.azure
        ? [this.text("deployment", words.deploymentField), this.text("api_version", words.versionField)]
        : null,
      this.kind.key ? this.secret() : null,
      this.found.fallback && name !== "gguf" ? this.fallback() : null,
      name === "compatible"
        ? null
        : h("p", { class: "can" }, h("span", { class: "chip" }, icon(privacy[0], "xs"), privacy[1])),
      h("div", { class: "row model-acts" }, this.use, this.test),
      this.told,
    );
  }

  right() {
    const { words } = this.app;
    const { several } = this.found;
    this.switch = h(
      "button",
      {
        type: "button",
        class: "switch",
        role: "switch",
        "aria-checked": "false",
        disabled: several,
        onclick: () => this.set("write", !this.values.write),
      },
      h("i", {}),
      words.alsoWrite,
    );
    this.fileHint = several ? h("p", { class: "tiny dim" }, words.writeNeeded) : null;
    this.keyHint = h("p", { class: "tiny dim", hidden: true }, words.keyFile);
    return h(
      "div",
      { class: "col side-b" },
      this.trial.element,
      this.switch,
      this.fileHint,
      this.toml,
      this.keyHint,
    );
  }

  /** The model: a list where its server has told one, else a box. */
  drawModel() {
    const { words } = this.app;
    const { name } = this.provider;
    const id = `${this.id}-model`;
    const label = h("label", { for: id }, name === "gguf" ? words.modelPath : words.modelField);
    const listed = this.models?.length && (this.kind.local || this.listed) && !this.other;
    put(this.modelField, label, listed ? this.choice(id) : this.box(id));
  }

  choice(id) {
    const options = this.models.map((model) => {
      const size = gigabytes(model.bytes);
      return h("option", { value: model.name }, size ? `${model.name} · ${size}` : model.name);
    });
    const select = h(
      "select",
      { class: "input", id, onchange: () => this.pick(select.value) },
      options,
      h("option", { value: OTHER }, this.app.words.otherModel),
    );
    select.value = this.values.model;
    return select;
  }

  pick(value) {
    this.other = value === OTHER;
    this.set("model", this.other ? "" : value);
    if (!this.other) return;
    this.drawModel();
    this.modelField.querySelector("input").focus();
  }

  box(id) {
    const input = h("input", {
      class: "input mono",
      id,
      value: this.values.model,
      list: `${id}-list`,
      spellcheck: "false",
      autocapitalize: "off",
      oninput: () => this.set("model", input.value),
    });
    const options = (this.models ?? []).map((model) => h("option", { value: model.name }));
    return [input, h("datalist", { id: `${id}-list` }, options)];
  }

  text(name, label, kind = "", placeholder = "") {
    const id = `${this.id}-${name}`;
    const input = h("input", {
      class: `input ${kind}`.trim(),
      id,
      placeholder,
      value: this.values[name],
      spellcheck: "false",
      autocapitalize: "off",
      oninput: () => this.set(name, input.value),
      onchange: () => this.list(),
    });
    return h("div", { class: "field" }, h("label", { for: id }, label), input);
  }

  secret() {
    const { words } = this.app;
    const id = `${this.id}-key`;
    this.key = h("input", {
      class: "input mono",
      id,
      type: "password",
      autocomplete: "off",
      "aria-describedby": `${id}-hint`,
      oninput: () => this.set("api_key", this.key.value),
      onchange: () => this.list(),
    });
    const { variable } = this.provider;
    const hint = variable
      ? `${fill(words.keySetHint, { name: variable })} ${words.keyStays}`
      : words.keyStays;
    const label = this.kind.key === "optional" ? words.keyOptional : words.keyField;
    return h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      this.key,
      h("p", { class: "hint", id: `${id}-hint` }, hint),
    );
  }

  fallback() {
    const { words } = this.app;
    const id = `${this.id}-fails`;
    const select = h(
      "select",
      { class: "input", id, onchange: () => this.set("fallback", select.value === "local") },
      h("option", { value: "" }, words.failsError),
      h("option", { value: "local" }, words.failsBuiltIn),
    );
    return h("div", { class: "field" }, h("label", { for: id }, words.ifItFails), select);
  }

  set(name, value) {
    this.values[name] = value;
    if (name !== "write" && name !== "fallback") this.trial.reset();
    this.changed();
  }

  changed() {
    const { words } = this.app;
    const { model, write } = this.values;
    const name = model.split("/").at(-1);
    put(this.use, model ? fill(words.useModel, { name }) : words.useNothing);
    this.use.disabled = this.test.disabled = !model.trim();
    this.switch.classList.toggle("on", write);
    this.switch.setAttribute("aria-checked", String(write));
    this.keyHint.hidden = !write || !this.values.api_key;
    clearTimeout(this.timer);
    this.toml.hidden = !write;
    if (write) this.timer = setTimeout(() => this.preview(), 200);
  }

  async preview() {
    try {
      put(this.toml, (await server.post("/playground/models-preview", this.values)).text);
    } catch (error) {
      put(this.toml, `# ${faultOf({ code: error.code, text: error.message }, this.app)}`);
    }
  }

  /** The models of the server that the form names now. */
  async list() {
    if (!LISTS.has(this.provider.name)) return;
    const asked = { ...this.values };
    const { models } = await server.post("/playground/models-list", asked).catch(() => ({ models: null }));
    if (!models?.length || asked.base_url !== this.values.base_url) return;
    this.models = models;
    this.listed = this.provider.name !== "openai";
    if (this.listed && !models.some((one) => one.name === this.values.model))
      this.set("model", models[0].name);
    this.drawModel();
  }

  async tryOut() {
    const { words } = this.app;
    put(this.test, icon("retry", "xs"), words.testAgain);
    await this.trial.run(this.values);
  }

  async submit(event) {
    event.preventDefault();
    const { words } = this.app;
    const { model } = this.values;
    this.use.disabled = true;
    put(this.told, h("p", { class: "small mid" }, fill(words.usingModel, { name: model })));
    try {
      const done = await server.post("/playground/models-use", this.values);
      await this.onUsed();
      this.tell(done);
    } catch (error) {
      const text = error.status
        ? faultOf({ code: error.code, text: error.message }, this.app)
        : words.offline;
      put(this.told, h("p", { class: "small bad", role: "alert" }, text));
    }
    this.use.disabled = false;
    this.use.focus();
  }

  tell({ model, written, override }) {
    const { words } = this.app;
    const kept = written ? fill(words.usedWritten, { file: written }) : words.usedUntilStart;
    // The server has the key now: the page forgets it.
    this.values.api_key = "";
    if (this.key) this.key.value = "";
    put(
      this.told,
      h("p", { class: "small ok" }, icon("check", "xs"), " ", fill(words.usedModel, { name: model })),
      h("p", { class: "tiny dim" }, kept, override ? ` ${fill(words.usedOverride, { name: override })}` : ""),
      h("a", { class: "btn sm", href: "#/chat" }, icon("chat", "xs"), words.tryIt),
    );
  }
}
