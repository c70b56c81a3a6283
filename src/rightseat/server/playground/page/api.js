// Every route of this server, from its own OpenAPI document, each with a form to try it.

import { h, put } from "./dom.js";
import { topbar } from "./frame.js";
import { Listing } from "./listing.js";
import { listFields, makeBody } from "./samples.js";
import { RouteTrial } from "./routes.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  api: "API",
  allRoutes: "All routes",
  findRoute: "Path or word",
  serverRoutes: "Server",
  routeBody: "Body",
  routeAnswers: "Answers",
  routeRequired: "required",
  routeNoKey: "needs no key",
});
learn("zh", {
  api: "API",
  allRoutes: "全部路由",
  findRoute: "路径或关键词",
  serverRoutes: "服务器",
  routeBody: "请求体",
  routeAnswers: "响应",
  routeRequired: "必填",
  routeNoKey: "无需密钥",
});

const NAMES = {
  openai: "OpenAI",
  agui: "AG-UI",
  openbb: "OpenBB",
  copilotkit: "CopilotKit",
  mcp: "MCP",
  llamacpp: "llama.cpp",
  eulercopilot: "EulerCopilot",
  playground: "Playground",
};
const SERVER = new Set(["operations", "openapi"]);
const LOOKS = { get: "get", delete: "del", put: "put", patch: "patch" };
let opened = "";

export const method = (name) =>
  h("span", { class: `meth ${LOOKS[name] ?? "post"}` }, name === "delete" ? "DEL" : name.toUpperCase());

export class ApiView {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.listing = new Listing(app, {
      title: words.api,
      hint: words.findRoute,
      choose: (entry) => this.open(entry.route),
      extra: h("a", { class: "tiny", href: `${server.BASE}/openapi.json` }, "openapi.json"),
    });
    this.list = this.listing.element;
    this.element = h("div", { class: "view routes api" });
  }

  async show() {
    const { words } = this.app;
    if (this.document) return;
    put(this.element, h("p", { class: "wrap dim", role: "status" }, words.loading));
    try {
      this.document = await server.get("/openapi.json");
    } catch (error) {
      put(this.element, h("p", { class: "wrap bad", role: "alert" }, error.message));
      return;
    }
    const routes = Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([name, about]) => ({
        id: `${name} ${path}`,
        path,
        method: name,
        ...about,
      })),
    );
    this.listing.show(this.groups(routes), { counted: false });
    const first = routes.find((one) => one.path === "/v1/chat/completions") ?? routes[0];
    this.open(routes.find((one) => one.id === opened) ?? first);
  }

  groups(routes) {
    const tags = [...new Set(routes.map((one) => one.tags[0]))].filter((tag) => !SERVER.has(tag));
    const of = (fits) => routes.filter((one) => fits(one.tags[0])).map((route) => this.entry(route));
    return [
      ...tags.map((tag) => ({ name: NAMES[tag] ?? tag, entries: of((one) => one === tag) })),
      { name: this.app.words.serverRoutes, entries: of((one) => SERVER.has(one)) },
    ];
  }

  entry(route) {
    const { id, path, summary = "" } = route;
    return {
      id,
      route,
      title: summary ? `${path}\n${summary}` : path,
      text: `${id} ${summary}`,
      inner: () => [method(route.method), h("span", { class: "cut mono" }, path)],
    };
  }

  open(route) {
    const { words } = this.app;
    opened = route.id;
    this.listing.mark(route.id);
    const schema = Object.values(route.requestBody?.content ?? {})[0]?.schema;
    const body = schema ? makeBody(schema, this.document) : undefined;
    const trial = new RouteTrial(route, body, words);
    const bar = topbar(
      this.app,
      { list: words.allRoutes },
      method(route.method),
      h("h1", { class: "mono cut", title: route.path }, route.path),
      h("span", { class: "grow" }),
      route.security?.length ? null : h("span", { class: "chip desk" }, words.routeNoKey),
    );
    const inner = h(
      "div",
      { class: "wrap" },
      route.summary ? h("header", {}, h("p", { class: "h1" }, route.summary)) : null,
      trial.element,
      schema ? this.fields(schema) : null,
      this.answers(route),
    );
    put(this.element, bar, h("div", { class: "body" }, h("div", { class: "scroller" }, inner)));
  }

  fields(schema) {
    const { words } = this.app;
    const must = () => h("span", { class: "bad" }, "*");
    const rows = listFields(schema, this.document).map(({ name, type, required, description }) =>
      h(
        "tr",
        {},
        h("td", { class: "mono" }, name, required ? [" ", must()] : null),
        h("td", { class: "dim mono" }, type),
        h("td", { class: "mid" }, description),
      ),
    );
    if (!rows.length) return null;
    const note = h("span", { class: "tiny dim" }, must(), ` ${words.routeRequired}`);
    return part(words.routeBody, note, rows);
  }

  answers({ responses = {} }) {
    const rows = Object.entries(responses).map(([status, { description = "" }]) =>
      h("tr", {}, h("td", { class: "mono" }, status), h("td", { class: "mid" }, description)),
    );
    return rows.length ? part(this.app.words.routeAnswers, null, rows) : null;
  }
}

function part(title, note, rows) {
  const head = h("div", { class: "row" }, h("h2", { class: "h2 grow" }, title), note);
  const table = h("table", { class: "tbl" }, h("tbody", {}, rows));
  return h(
    "section",
    { class: "more" },
    head,
    h("div", { class: "card", tabindex: "0", role: "group", "aria-label": title }, table),
  );
}
