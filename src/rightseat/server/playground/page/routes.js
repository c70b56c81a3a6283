// One route, to be tried: a request to edit, and the response as it comes.

import { copier, h, put } from "./dom.js";
import { field } from "./forms.js";
import { icon } from "./icons.js";
import { coloured, json } from "./json.js";
import { segments } from "./tooltrial.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  routeSend: "Send",
  routeNoBody: "This request has no body.",
  routeNotSent: "Nothing was sent yet.",
  routeEmpty: "The response has no body.",
  routeCut: "… the rest is not shown",
});
learn("zh", {
  routeSend: "发送请求",
  routeNoBody: "此请求没有请求体。",
  routeNotSent: "尚未发送。",
  routeEmpty: "响应没有内容。",
  routeCut: "…其余不显示",
});

const MANY = 200_000;

export class RouteTrial {
  constructor(route, body, words) {
    this.route = route;
    this.words = words;
    this.params = (route.parameters ?? []).map((one) => field(one.name, one.schema, true, words));
    const text = body === undefined ? "" : JSON.stringify(body, null, 2);
    const box = {
      class: "input mono",
      rows: 12,
      spellcheck: "false",
      "aria-label": words.rawRequest,
      value: text,
    };
    this.box = body === undefined ? null : h("textarea", { ...box, onkeydown: (event) => this.key(event) });
    this.place = h("div", { class: "col grow" });
    this.facts = h("div", { class: "row", role: "status" });
    this.answer = h("div", { class: "out" }, h("p", { class: "hint" }, words.routeNotSent));
    this.element = this.build();
    this.view("try");
  }

  build() {
    const { words } = this;
    const options = [
      ["try", words.tryOut],
      ["curl", "curl"],
      ["python", "Python"],
    ];
    this.button = h("button", { class: "btn ink sm" }, icon("play", "xs"), words.routeSend);
    this.halt = h(
      "button",
      { type: "button", class: "btn sm", hidden: true, onclick: () => this.abort.abort() },
      icon("stop", "xs"),
      words.stop,
    );
    const send = (event) => {
      event.preventDefault();
      this.send();
    };
    const request = h(
      "form",
      { class: "col half", onsubmit: send },
      h(
        "div",
        { class: "row" },
        h("h2", { class: "grow" }, words.rawRequest),
        segments(options, "try", (name) => this.view(name)),
        this.button,
        this.halt,
      ),
      this.params.length
        ? h(
            "div",
            { class: "params fields" },
            this.params.map((one) => one.element),
          )
        : null,
      this.place,
    );
    const response = h(
      "div",
      { class: "col half" },
      h("div", { class: "row" }, h("h2", { class: "grow" }, words.rawResponse), this.facts),
      this.answer,
    );
    return h("section", { class: "card operation" }, h("div", { class: "split" }, request, response));
  }

  view(name) {
    const { words } = this;
    if (name === "try") {
      put(this.place, this.box ?? (this.params.length ? null : h("p", { class: "hint" }, words.routeNoBody)));
      return;
    }
    const text = name === "curl" ? this.curl() : this.python();
    const copy = copier(text, words);
    copy.classList.add("btn", "sm");
    put(this.place, json(text, "pre wrapit"), h("div", { class: "row copyrow" }, copy));
  }

  get path() {
    const given = new Map(this.params.map((one) => [one.name, one.value() ?? ""]));
    return this.route.path.replace(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(given.get(name) || `{${name}}`),
    );
  }

  get url() {
    return `${location.origin}${server.BASE}${decodeURI(this.path)}`;
  }

  curl() {
    const { box, route } = this;
    const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
    // In double quotes the shell puts the key in.
    const key = server.key.get() ? [`-H "Authorization: Bearer $RIGHTSEAT_KEY"`] : [];
    const body = box ? ["-H 'Content-Type: application/json'", `-d ${quoted(box.value)}`] : [];
    const parts = [`curl -N -X ${route.method.toUpperCase()} ${quoted(this.url)}`, ...key, ...body];
    return parts.join(" \\\n  ");
  }

  python() {
    const { box, route } = this;
    const key = server.key.get();
    const headers = [
      box ? `"Content-Type": "application/json"` : "",
      key ? `"Authorization": "Bearer " + os.environ["RIGHTSEAT_KEY"]` : "",
    ].filter(Boolean);
    const body = box ? [`body = ${JSON.stringify(box.value)}.encode()`] : [];
    return [
      ...(key ? ["import os"] : []),
      "import urllib.request",
      "",
      ...body,
      `request = urllib.request.Request(`,
      `    ${JSON.stringify(this.url)},`,
      `    method="${route.method.toUpperCase()}",`,
      ...(box ? ["    data=body,"] : []),
      ...(headers.length ? [`    headers={${headers.join(", ")}},`] : []),
      ")",
      "with urllib.request.urlopen(request) as response:",
      "    print(response.read().decode())",
    ].join("\n");
  }

  key(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.element.querySelector("form").requestSubmit();
  }

  async send() {
    const { words } = this;
    const headers = this.box ? { "content-type": "application/json" } : {};
    if (server.key.get()) headers.authorization = `Bearer ${server.key.get()}`;
    this.abort = new AbortController();
    this.busy(true);
    put(this.facts);
    put(this.answer, h("p", { class: "hint" }, words.toolCalling));
    const began = performance.now();
    try {
      const asked = {
        method: this.route.method.toUpperCase(),
        headers,
        body: this.box?.value,
        signal: this.abort.signal,
      };
      await this.read(await fetch(server.BASE + this.path, asked), began);
    } catch (error) {
      if (error.name !== "AbortError")
        put(this.answer, h("p", { class: "hint bad", role: "alert" }, words.offline));
    } finally {
      this.busy(false);
    }
  }

  busy(busy) {
    this.button.hidden = busy;
    this.halt.hidden = !busy;
  }

  /** The response as it comes; JSON is coloured when all of it is here. */
  async read(response, began) {
    const { words } = this;
    const shown = h("pre", { class: "pre wrapit", tabindex: "0" });
    put(this.answer, shown);
    let text = "";
    let size = 0;
    const tell = () => {
      const time = `${((performance.now() - began) / 1000).toFixed(2)} s · ${size} B`;
      const look = response.ok ? "chip ok" : "chip bad";
      put(
        this.facts,
        h("span", { class: look }, response.status),
        h("span", { class: "tiny dim num" }, time),
      );
    };
    tell();
    const decoder = new TextDecoder();
    for await (const part of parts(response)) {
      size += part.length;
      if (text.length < MANY) text += decoder.decode(part, { stream: true });
      shown.textContent = text.length < MANY ? text : `${text.slice(0, MANY)}\n${words.routeCut}`;
      tell();
    }
    if (!size) put(this.answer, h("p", { class: "hint" }, words.routeEmpty));
    else if (response.headers.get("content-type")?.includes("json")) colour(shown, text);
  }
}

async function* parts(response) {
  const reader = response.body?.getReader();
  if (!reader) return;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

function colour(place, text) {
  try {
    put(place, coloured(JSON.stringify(JSON.parse(text), null, 2)));
  } catch {
    // Not all of it is here: it stays as it came.
  }
}
