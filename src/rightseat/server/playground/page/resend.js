// A request of a run, sent once more as a front end would: its answer as it comes.

import { h, put } from "./dom.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", { sendAgain: "Send again", newAnswer: "new answer", sending: "sending …" });
learn("zh", { sendAgain: "重新发送", newAnswer: "新的响应", sending: "正在发送…" });

const MOST = 200_000;
const DRAWN_MS = 250;
const THREAD = /"threadId":\s*"([^"]+)"/;

export class Resent {
  constructor(app, door) {
    this.app = app;
    this.door = door;
    this.text = "";
    this.chip = h("span", { class: "chip resent", role: "status" }, app.words.sending);
    this.leaving = new AbortController();
  }

  stop() {
    this.leaving.abort();
  }

  /** `draw` is called while the answer comes, and at its end. */
  async run(draw) {
    const { words } = this.app;
    const began = performance.now();
    try {
      const response = await server.resend(this.door.request, this.leaving.signal);
      await this.read(response, draw);
      const time = ((performance.now() - began) / 1000).toFixed(2);
      put(this.chip, `${words.newAnswer} · HTTP ${response.status} · ${time} s`);
      this.chip.classList.add(response.ok ? "ok" : "bad");
      this.forget();
    } catch {
      if (this.leaving.signal.aborted) return;
      put(this.chip, words.offline);
      this.chip.classList.add("bad");
    }
    draw();
  }

  async read(response, draw) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let drawn = performance.now();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (this.text.length < MOST) this.text = (this.text + value).slice(0, MOST);
      if (performance.now() - drawn < DRAWN_MS) continue;
      drawn = performance.now();
      draw();
    }
  }

  /** CopilotKit's endpoint keeps a conversation of it, which nobody wants to find in the list. */
  forget() {
    const thread = this.door.name === "copilotkit" ? THREAD.exec(this.text)?.[1] : "";
    if (thread) server.remove(thread).catch(() => {});
  }
}
