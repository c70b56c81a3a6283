// One conversation with the server: asks, follows, stops, goes back and branches.

import { Talk } from "./talk.js";
import { files, content } from "./attachments.js";
import { newId } from "./ids.js";
import * as server from "./server.js";

export class Session {
  /** `shown()` is called when there is something new to draw, `told(text)` when there is something to say,
   * `listed()` when the list of conversations may have changed, `restarted()` when all is to be drawn anew,
   * `returned(item)` with a message that could not be sent. */
  constructor({ shown, told, words, listed, restarted, returned }) {
    Object.assign(this, { shown, told, words, listed, restarted, returned });
    this.agent = "default";
    this.model = "";
    this.abort = new AbortController();
    this.fresh();
  }

  fresh(agent = this.agent) {
    this.abort.abort();
    this.abort = new AbortController();
    this.talk = new Talk();
    this.thread = newId();
    this.opening = false;
    this.cut = false;
    this.unheard = null;
    if (agent !== this.agent) this.model = "";
    this.agent = agent;
  }

  /** A kept conversation, from its first word, and on with its run if one is under way. */
  async open(thread, agent) {
    this.fresh(agent);
    this.thread = thread;
    this.opening = true;
    await this.follow(server.connect(agent, thread, this.options()), true);
  }

  /** The same conversation, as the server's log has it. */
  async reopen() {
    const opened = this.open(this.thread, this.agent);
    this.restarted();
    await opened;
  }

  async say(content) {
    this.talk.say({ id: newId(), role: "user", content });
    await this.ask();
  }

  /** Several questions of one run are answered together, when the last one is. */
  async answer(question, { payload, status }) {
    question.answer = { payload, status };
    this.talk.touch(question);
    this.shown();
    if (this.talk.questions.length) return;
    const given = ({ kind, answer }) => kind === "question" && !answer.past && !answer.sent;
    const resume = this.talk.items.filter(given).map(({ id, answer }) => {
      const { status, payload } = answer;
      answer.sent = true;
      return { interruptId: id, status, payload };
    });
    await this.ask({ resume });
  }

  async ask(more = {}) {
    this.unheard = more;
    this.talk.running = true;
    this.shown();
    const input = {
      threadId: this.thread,
      runId: newId(),
      protocolVersion: "1.0",
      messages: this.talk.messages(),
      tools: [],
      context: [],
      state: this.talk.state ?? {},
      forwardedProps: this.model ? { model: this.model } : {},
      ...more,
    };
    await this.follow(server.run(this.agent, input, this.options()));
    this.listed();
  }

  options() {
    const { abort } = this;
    const onCut = (cut) => {
      if (abort !== this.abort) return;
      this.cut = cut;
      this.told(cut ? this.words().cutOff : "");
      this.shown();
    };
    return { signal: abort.signal, onCut };
  }

  async follow(events, replayed = false) {
    const { talk } = this;
    try {
      for await (const event of events) {
        if (talk !== this.talk) return;
        this.unheard = null;
        this.opening = false;
        talk.take(event, { replayed });
        this.shown();
      }
    } catch (error) {
      if (talk !== this.talk || error.name === "AbortError") return;
      if (error instanceof server.Lost) await this.reopen();
      else if (error.code === "conflict") await this.late();
      else this.failed(error);
    } finally {
      if (talk === this.talk) {
        talk.running = false;
        this.opening = false;
        this.cut = false;
        this.told("");
        this.shown();
      }
    }
  }

  /** Another tab has asked in between: what it asked is shown, and this question goes back into its box. */
  async late() {
    const last = this.talk.items.at(-1);
    if (last?.kind === "message" && last.role === "user") this.returned(last);
    await this.reopen();
  }

  failed(error) {
    if (error.status === 401) {
      dispatchEvent(new CustomEvent("rightseat:key"));
      return;
    }
    const refused = error instanceof server.Refused && error.status;
    const [code, message] = refused ? [error.code, error.message] : ["cut", this.words().offline];
    this.talk.take({ type: "RUN_ERROR", code, message });
  }

  async stop() {
    await server.stop(this.agent, this.thread).catch((error) => this.failed(error));
  }

  /** The same once more, after a failure. What was half said is not taken for an answer; what was asked for
   * and never reached the server is asked for again. */
  async retry() {
    const whole = ({ kind, role, result }) =>
      (kind === "message" && role === "user") || (kind === "call" && result !== undefined);
    const from = this.talk.items.findLastIndex(whole);
    const half = ({ kind }, at) => at > from && (kind === "message" || kind === "failure");
    this.talk.items.filter(half).forEach((item) => this.talk.drop(item));
    await this.ask(this.unheard ?? {});
  }

  /** A new conversation that shares the past up to a message, which says something else now. */
  async branch(item, said) {
    const before = this.talk.items.slice(0, this.talk.items.indexOf(item));
    const { state } = this.talk;
    this.fresh();
    for (const one of before) if (one.kind !== "failure" && one.kind !== "note") this.talk.add({ ...one });
    this.talk.state = state;
    await this.say(said);
  }

  /** The question before an answer, asked again. */
  async again(item) {
    const at = this.talk.items.indexOf(item);
    const asked = this.talk.items
      .slice(0, at)
      .findLast((one) => one.kind === "message" && one.role === "user");
    if (asked) await this.branch(asked, content(asked.text, files(asked.content)));
  }
}
