// What is asked of the server about a run: the prompts of a local model, and the bytes of every door.

import { h, put, copier } from "./dom.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  prompts: "Prompt",
  prompt: "Prompt",
  grammar: "Grammar",
  noPrompt: "Prompt and grammar are available for local models only.",
  wire: "Wire",
  wireHint: "The same run in the format of each door, each with a shell command:",
});
learn("zh", {
  prompts: "提示词",
  prompt: "提示词",
  grammar: "语法",
  noPrompt: "只有本地模型可以查看提示词和语法。",
  wire: "协议输出",
  wireHint: "同一次运行在每个接口上的输出，附可复制的命令：",
});

/** Asked once for each run, when it has ended. */
class Asked {
  constructor(app) {
    this.app = app;
    this.element = h("div", { "aria-live": "polite" });
  }

  async show({ run, running }) {
    if (running || this.run === run) return;
    this.run = run;
    put(this.element, h("p", { class: "dim" }, this.app.words.loading));
    try {
      const found = await this.fetch(encodeURIComponent(run.id));
      if (this.run === run) put(this.element, this.drawn(found));
    } catch (error) {
      put(this.element, h("p", { class: "bad", role: "alert" }, error.message));
    }
  }
}

export class Prompts extends Asked {
  fetch(run) {
    return server.get(`/playground/prompts/${run}`);
  }

  drawn(found) {
    const { words } = this.app;
    if (!found.length) return h("p", { class: "dim" }, words.noPrompt);
    return found.map(({ prompt, grammar }) => [
      h("h3", {}, words.prompt),
      h("pre", { tabindex: "0" }, prompt),
      grammar ? [h("h3", {}, words.grammar), h("pre", { tabindex: "0" }, grammar)] : null,
    ]);
  }
}

export class Wire extends Asked {
  fetch(run) {
    return server.get(`/playground/wire/${encodeURIComponent(this.app.session.thread)}?run=${run}`);
  }

  drawn({ doors }) {
    const { words } = this.app;
    return [h("p", { class: "dim" }, words.wireHint), doors.map((one) => this.door(one))];
  }

  door({ name, size, curl, bytes }) {
    const summary = h("summary", {}, h("strong", {}, name), ` ${size} B`);
    const line = [h("pre", { tabindex: "0" }, curl), copier(() => server.keyed(curl), this.app.words)];
    return h("details", { class: "door" }, summary, line, h("pre", { class: "bytes", tabindex: "0" }, bytes));
  }
}
