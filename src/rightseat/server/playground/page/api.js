// Every route of this server, from its own OpenAPI document.

import { folded, h, put } from "./dom.js";
import { value } from "./values.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  api: "API",
  apiHint: "Every route of this server. The OpenAPI document: ",
  body: "Body",
  answers: "Answers",
});
learn("zh", {
  api: "API",
  apiHint: "本服务器的全部路由。同样内容的文档：",
  body: "请求体",
  answers: "响应",
});

export class ApiView {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "page api" });
  }

  async show() {
    const { words } = this.app;
    put(this.element, h("p", { class: "dim" }, words.loading));
    try {
      const document = await server.get("/openapi.json");
      const link = h("a", { href: `${server.BASE}/openapi.json` }, "openapi.json");
      const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, route]) => this.route(method, path, route, document)),
      );
      put(this.element, h("h2", {}, document.info.title), h("p", {}, words.apiHint, link), routes);
    } catch (error) {
      put(this.element, h("p", { class: "bad", role: "alert" }, error.message));
    }
  }

  route(method, path, route, document) {
    const name = h("code", {}, `${method.toUpperCase()} ${path}`);
    const summary = [name, " ", h("span", { class: "dim" }, route.summary ?? "")];
    return folded({ class: "operation" }, summary, () => this.told(route, document));
  }

  told(route, document) {
    const { words } = this.app;
    const schema = Object.values(route.requestBody?.content ?? {})[0]?.schema;
    const name = schema?.$ref?.split("/").pop();
    const body = name ? document.components?.schemas?.[name] : schema;
    const answers = Object.entries(route.responses ?? {}).map(([status, one]) =>
      h("li", {}, h("code", {}, status), ` ${one.description ?? ""}`),
    );
    return [
      body ? [h("h4", {}, words.body), value(body, words)] : null,
      answers.length ? [h("h4", {}, words.answers), h("ul", {}, answers)] : null,
    ];
  }
}
