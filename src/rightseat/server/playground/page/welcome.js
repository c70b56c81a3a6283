// What a newcomer sees first: the composer, things that surely work, and the model that answers.

import { h, put } from "./dom.js";
import { known, modelCard } from "./answering.js";
import { field } from "./forms.js";
import { icon, mark } from "./icons.js";
import { learn } from "./words.js";

learn("en", {
  hello: "Ask, and see every step.",
  helloText:
    "One backend for OpenAI clients, OpenBB, CopilotKit, AG-UI and MCP. This page is one of its clients: what you see here, they get too.",
  tryOne: "Try one",
  toSend: "to send",
  toBreak: "for a new line",
  toSearch: "to search",
});
learn("zh", {
  hello: "提问，看清每一步。",
  helloText:
    "一个后端，服务 OpenAI 客户端、OpenBB、CopilotKit、AG-UI 和 MCP。本页也是其中一个客户端：这里看到的，它们同样得到。",
  tryOne: "试一试",
  toSend: "发送",
  toBreak: "换行",
  toSearch: "搜索",
});

/** ⌘ on a Mac, Ctrl elsewhere. */
export const COMMAND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl+";

/** The page of an empty conversation, with the composer in it. */
export function welcome(app, composer) {
  const { words, about, session } = app;
  const first = about.assistants[0]?.name === session.agent;
  const asked = known(app);
  const tried = first ? examples(app) : asked.suggestions.map((text) => [text, "", () => app.say(text)]);
  return h(
    "div",
    { class: "hello welcome" },
    mark(),
    h("h1", {}, first ? words.hello : asked.title || session.agent),
    h("p", {}, first ? words.helloText : asked.description),
    asked.down ? h("p", { class: "bad", role: "alert" }, asked.down) : null,
    composer,
    keys(words),
    tried.length ? h("h2", { class: "over" }, words.tryOne) : null,
    tried.length
      ? h(
          "div",
          { class: "eg" },
          tried.map((one) => tile(...one)),
        )
      : null,
    modelCard(app),
  );
}

/** What surely works here, whoever is asked now. */
export function examples(app) {
  const { about, language } = app;
  return about.examples.map((one) => {
    const text = one[language] ?? one.en;
    return [text, one.title[language] ?? one.title.en, () => app.example(one, text), sign(one)];
  });
}

/** A flow draws, an approval asks, a tool is called: told by what the example needs. */
function sign({ assistant, kind }) {
  return kind === "approval" ? ["hand", "human"] : assistant ? ["chart", "step"] : ["tool", ""];
}

export function tile(text, title, onclick, [name, look] = ["chat", ""]) {
  const under = title ? h("small", {}, icon(name, `xs ${look}`.trim()), title) : null;
  return h("button", { type: "button", onclick }, h("b", {}, text), under);
}

function keys(words) {
  const key = (text, word) => h("span", {}, h("span", { class: "kbd" }, text), " ", word);
  return h(
    "div",
    { class: "hint-keys desk" },
    key("↵", words.toSend),
    key("⇧↵", words.toBreak),
    key(`${COMMAND}K`, words.toSearch),
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
    { class: "card pad col key", onsubmit: send },
    h("div", { class: "row" }, mark(), h("h1", {}, words.keyNeeded)),
    wrong ? h("p", { class: "bad small", role: "alert" }, words.keyWrong) : null,
    key.element,
    h(
      "div",
      { class: "row" },
      h("button", { class: "btn ink" }, words.open),
      h("span", { class: "tiny dim" }, words.keyHint),
    ),
  );
  put(document.querySelector("#app"), h("main", { class: "gate" }, box));
  box.querySelector("input").focus();
}
