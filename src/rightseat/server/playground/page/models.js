// The models: which one answers now, and another one to connect.

import { h } from "./dom.js";
import { topbar } from "./frame.js";

export class ModelsView {
  constructor(app) {
    this.app = app;
    this.element = h("div", { class: "view" }, topbar(app, {}, h("h1", {}, app.words.models)));
  }

  async show() {}
}
