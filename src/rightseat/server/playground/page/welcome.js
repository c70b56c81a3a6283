// What a newcomer sees first: three things that surely work, and the way to a model of one's own.

import { h, put, copier } from "./dom.js";
import { field } from "./forms.js";

export function welcome(app) {
  const { words, about, session } = app;
  const first = about.assistants[0]?.name === session.agent;
  const known = about.assistants.find((one) => one.name === session.agent);
  const tried = first
    ? about.examples.map((one) => example(one, app))
    : (known?.suggestions ?? []).map(suggestion);
  return h(
    "div",
    { class: "welcome" },
    h("h1", {}, first ? "rightseat" : known?.title || session.agent),
    h("p", {}, first ? words.welcome : known?.description),
    known?.down ? h("p", { class: "bad", role: "alert" }, known.down) : null,
    h("p", { class: "dim" }, tried.length ? words.tryThese : words.askBelow),
    h(
      "div",
      { class: "chips" },
      tried.map(({ title, text, ask }) => chip(title, text, ask)),
    ),
    first && about.tiny ? h("div", { class: "card tiny" }, notes(app), own(app)) : first ? notes(app) : null,
  );

  function suggestion(text) {
    return { title: "", text, ask: () => app.say(text) };
  }
}

function example(one, app) {
  const text = one[app.language] ?? one.en;
  return { title: one.title[app.language] ?? one.title.en, text, ask: () => app.example(one, text) };
}

function chip(title, text, onclick) {
  const head = title ? h("strong", {}, title) : null;
  return h("button", { type: "button", class: "chip large", onclick }, head, h("span", {}, text));
}

/** What the model is good for and what it is not, and the commands for a better one. */
function notes({ words, about, language }) {
  const { name, lines, better } = about.model ?? {};
  if (!lines?.length) return null;
  const offer = () => h("p", {}, `${words.better} `, h("code", {}, better), " ", copier(better, words));
  return h(
    "div",
    { class: "notes" },
    h("p", {}, h("strong", {}, `${words.model}: ${name}`), about.tiny ? ` · ${words.tiny}` : null),
    h(
      "ul",
      {},
      lines.map((line) => h("li", {}, line[language] ?? line.en)),
    ),
    better ? offer() : null,
  );
}

/** A box for a base URL and a key: what to start the server with. Nothing is sent anywhere. */
function own({ words }) {
  const url = field(
    "url",
    { title: words.baseUrl, format: "uri" },
    false,
    words,
    "https://api.openai.com/v1",
  );
  const model = field("model", { title: words.modelName }, false, words, "gpt-5-mini");
  const key = field("key", { title: words.apiKey, format: "password" }, false, words);
  const line = h("pre", { tabindex: "0" });
  const command = (secret) =>
    [
      `OPENAI_BASE_URL=${url.value() ?? ""}`,
      `OPENAI_API_KEY=${secret}`,
      `rightseat serve --model openai:${model.value() ?? ""}`,
    ].join(" ");
  const show = () => (line.textContent = command(key.value() ? "••••••" : "…"));
  show();
  const fields = h("div", { class: "fields", oninput: show }, url.element, model.element, key.element);
  return h(
    "details",
    {},
    h("summary", {}, words.connectOwn),
    fields,
    h("p", { class: "dim" }, words.connectHint),
    line,
    copier(() => command(key.value() ?? "…"), words),
  );
}

/** Asked for when the server needs a key. */
export function door(app, wrong) {
  const { words } = app;
  const key = field("key", { title: words.apiKey, format: "password" }, true, words);
  const send = (event) => {
    event.preventDefault();
    app.unlock(key.value());
  };
  const box = h(
    "form",
    { class: "card key", onsubmit: send },
    h("h1", {}, words.keyNeeded),
    wrong ? h("p", { class: "bad", role: "alert" }, words.keyWrong) : null,
    key.element,
    h("p", { class: "dim" }, words.keyHint),
    h("button", { class: "main" }, words.open),
  );
  put(document.querySelector("#app"), h("main", {}, box));
  box.querySelector("input").focus();
}
