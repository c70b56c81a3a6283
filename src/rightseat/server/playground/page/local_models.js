// Better models for this machine: fetched from here with their progress, stopped, gone on with, and used.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import "./local_words.js";
import { faultOf, fill } from "./model_words.js";
import { gigabytes } from "./providers.js";
import * as server from "./server.js";
import { inLanguage } from "./server_words.js";

const ENDS = new Set(["done", "stopped", "failed"]);
const FITS = { well: ["ok", "fitsWell"], slow: ["warn", "fitsSlow"], no: ["bad", "fitsNot"] };
const megabytes = (bytes) =>
  (bytes / 1e6).toLocaleString(undefined, { maximumFractionDigits: bytes < 1e7 ? 1 : 0 });
const sized = (bytes) => (bytes < 1e8 ? `${megabytes(bytes)} MB` : gigabytes(bytes));

export class LocalModels {
  /** `onUse` gets the path of a model that is to answer; `onCome` hears of one that has come. */
  constructor(app, local, { onUse, onCome }) {
    Object.assign(this, { app, local, onUse, onCome });
    this.rows = h("ul", { class: "get-rows card" });
    this.told = h("p", { class: "small told", role: "status" });
    const { words } = app;
    this.element = h(
      "section",
      { class: "get-models" },
      h(
        "div",
        { class: "row" },
        h("h3", { class: "h2" }, words.betterModels),
        h("span", { class: "dim tiny" }, fill(words.freeDisk, { size: gigabytes(local.free) })),
      ),
      local.engine
        ? h("p", { class: "small warn-text" }, fill(words.noEngine, { text: inLanguage(local.engine, app) }))
        : null,
      this.rows,
      this.address(),
      this.told,
    );
    this.line = local.fetch;
    this.draw();
    if (this.line) this.follow("");
  }

  /** The view is drawn anew: the download goes on, only nobody looks here. */
  close() {
    this.watching?.abort();
    this.watching = null;
  }

  address() {
    const { words } = this.app;
    this.box = h("input", {
      class: "input mono grow",
      id: "get-address",
      placeholder: "hf:OWNER/REPO/FILE.gguf",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
    });
    const get = h("button", { type: "submit", class: "btn" }, icon("down2", "xs"), words.getModel);
    return h(
      "form",
      {
        class: "field get-address",
        onsubmit: (event) => {
          event.preventDefault();
          if (this.box.value.trim()) this.follow(this.box.value.trim());
          else this.box.focus();
        },
      },
      h("label", { for: "get-address" }, words.getAddress),
      h("div", { class: "row" }, this.box, get),
      h("p", { class: "hint" }, words.getHint),
    );
  }

  draw() {
    const { models } = this.local;
    const { line } = this;
    const unlisted = line && !models.some((one) => one.source === line.source);
    const rows = unlisted ? [...models, { ...line, bytes: line.total }] : models;
    this.live = null;
    put(
      this.rows,
      rows.map((model) => this.row(model)),
    );
  }

  row(model) {
    const { words } = this.app;
    const mine = this.line?.source === model.source ? this.line : null;
    const [tone, word] = FITS[model.fits] ?? [];
    const about = [
      model.bytes ? sized(model.bytes) : "",
      model.licence,
      model.good_for ? inLanguage(model.good_for, this.app) : "",
    ];
    return h(
      "li",
      { dataset: { source: model.source, model: model.name } },
      h(
        "div",
        { class: "what" },
        h("b", {}, model.name),
        h("div", { class: "tiny dim" }, about.filter(Boolean).join(" · ")),
      ),
      word ? h("span", { class: `chip ${tone}` }, words[word]) : h("span", {}),
      h("div", { class: "act" }, mine && !ENDS.has(mine.state) ? this.progress(mine) : this.act(model)),
    );
  }

  act(model) {
    const { words } = this.app;
    if (model.path) {
      const use = () => this.onUse(model.path);
      return h("button", { type: "button", class: "btn sm ink", onclick: use }, words.useFetched);
    }
    const label = model.part ? fill(words.goOn, { size: megabytes(model.part) }) : words.getModel;
    return h(
      "button",
      {
        type: "button",
        class: "btn sm",
        "aria-label": `${label}: ${model.name}`,
        disabled: Boolean(this.line && !ENDS.has(this.line.state)),
        onclick: () => this.follow(model.source),
      },
      icon("down2", "xs"),
      label,
    );
  }

  progress(line) {
    const { words } = this.app;
    const text = h("span", { class: "tiny mid num" });
    const bar = h("progress", { class: "get-bar", "aria-label": fill(words.fetching, { name: line.name }) });
    const stop = h(
      "button",
      { type: "button", class: "btn sm", onclick: () => this.stop(stop) },
      words.cancel,
    );
    this.live = { text, bar, stop };
    this.update(line);
    return [h("div", { class: "col" }, text, bar), stop];
  }

  /** Only what has changed: the button keeps its focus. */
  update({ state, bytes, total }) {
    const { words } = this.app;
    const { text, bar, stop } = this.live;
    const percent = total ? Math.floor((bytes * 100) / total) : 0;
    const values = { done: megabytes(bytes), total: megabytes(total), percent };
    put(
      text,
      state === "checking" ? words.checkingFile : fill(total ? words.soFar : words.soFarOnly, values),
    );
    if (total) {
      bar.max = total;
      bar.value = bytes;
    }
    stop.disabled = state === "checking";
  }

  /** Fetches, or looks at what is being fetched, until its end. `source`: "" for what is under way. */
  async follow(source) {
    this.close();
    const mine = (this.watching = new AbortController());
    put(this.told);
    try {
      for await (const line of server.lines("/playground/models-fetch", { source }, mine.signal))
        this.take(line);
      if (!ENDS.has(this.line?.state)) throw new Error("cut");
    } catch (error) {
      if (mine.signal.aborted) return;
      this.line = null;
      const known = { code: error.code, text: error.message };
      this.say(error.status ? faultOf(known, this.app) : this.app.words.offline, "bad");
    }
    await this.ended();
  }

  take(line) {
    const before = this.line;
    this.line = line;
    if (this.live && before?.source === line.source && !ENDS.has(line.state)) return this.update(line);
    this.draw();
    const focused = document.activeElement;
    if (focused === document.body || focused === this.box) this.live?.stop.focus();
  }

  /** What is here now is asked for again, and said. */
  async ended() {
    const { words } = this.app;
    const { line } = this;
    const { local, providers } = await server.get("/playground/models").catch(() => ({}));
    if (local) this.local = local;
    this.draw();
    if (!line) return;
    if (line.state === "failed") this.say(faultOf(line, this.app), "bad");
    if (line.state === "stopped") this.say(fill(words.fetchStopped, { name: line.name }), "mid");
    if (line.state === "done") {
      this.say(fill(words.fetchDone, { name: line.name }), "ok");
      this.box.value = "";
      if (providers) this.onCome(providers);
      const use = h("button", { type: "button", class: "btn sm ink" }, words.useFetched);
      use.addEventListener("click", () => this.onUse(line.path));
      this.told.append(" ", use);
    }
    const row = [...this.rows.children].find((one) => one.dataset.source === line.source);
    if (document.activeElement === document.body)
      (this.told.querySelector("button") ?? row?.querySelector("button") ?? this.box).focus();
  }

  async stop(button) {
    button.disabled = true;
    await server.post("/playground/models-fetch-stop", {}).catch(() => {});
  }

  say(text, tone) {
    this.told.className = `small told ${tone}`;
    put(this.told, text);
    if (tone === "bad") this.told.setAttribute("role", "alert");
    else this.told.setAttribute("role", "status");
  }
}
