// The conversation: what was said, what happens now, and the place to write.

import { h, put } from "./dom.js";
import { whom } from "./answering.js";
import { ArtifactCard } from "./artifacts.js";
import { CallCard, CitationsCard, FailureCard, NestedCard, NoteCard, ReasoningCard } from "./cards.js";
import { Composer } from "./composer.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { MessageCard } from "./messages.js";
import { QuestionCard } from "./questions.js";
import { Waiting } from "./waiting.js";
import { examples, welcome } from "./welcome.js";
import { learn } from "./words.js";

learn("en", { examples: "Examples" });
learn("zh", { examples: "示例" });

const CARDS = {
  message: MessageCard,
  call: CallCard,
  question: QuestionCard,
  reasoning: ReasoningCard,
  nested: NestedCard,
  citations: CitationsCard,
  artifact: ArtifactCard,
  failure: FailureCard,
  note: NoteCard,
};
const NEAR = 80;

export class Chat {
  constructor(app) {
    const { words } = app;
    this.app = app;
    this.log = h("div", { class: "talk", role: "log", "aria-live": "polite", "aria-relevant": "additions" });
    this.banner = h("p", { class: "banner", role: "status", hidden: true });
    this.hints = h("div", { class: "hints", role: "group", "aria-label": words.suggestions });
    this.wait = new Waiting(app);
    this.composer = new Composer(app);
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: "-1", onscroll: () => this.scrolled() },
      this.log,
    );
    this.inner = h("div", { class: "inner" }, this.banner, this.hints, this.wait.element);
    this.dock = h("div", { class: "dock" }, this.inner);
    const talk = h("section", { class: "chat", "aria-label": words.chat }, this.scroller, this.dock);
    const body = h("div", { class: "body" }, talk, app.inspector.element);
    this.element = h("div", { class: "view" }, this.bar(), body);
    this.views = new Map();
    this.prompts = null;
    this.waiting = false;
    this.following = true;
    this.top = 0;
    // Also what grows by itself, such as a chart: the end stays in sight.
    new ResizeObserver(() => this.follow()).observe(this.log);
  }

  bar() {
    const { app } = this;
    const { words } = app;
    const button = (look, word, sign, onclick) =>
      h("button", { type: "button", class: look, "aria-label": word, title: word, onclick }, icon(sign));
    this.choice = h("div", { class: "row" });
    this.title = h("span", { class: "dim cut desk" });
    const looking = { type: "button", class: "btn quiet", "aria-pressed": "false" };
    this.looking = h(
      "button",
      { ...looking, "aria-label": words.inspector, title: words.inspector, onclick: () => this.inspect() },
      icon("trace", "s"),
      h("span", { class: "desk" }, words.inspector),
    );
    const shown = { type: "button", class: "btn quiet examples", "aria-haspopup": "menu" };
    this.shown = h(
      "button",
      { ...shown, "aria-label": words.examples, title: words.examples, onclick: () => this.examples() },
      icon("think", "s"),
      h("span", { class: "desk" }, words.examples),
    );
    return topbar(
      app,
      { list: words.threads },
      this.choice,
      this.title,
      h("span", { class: "grow" }),
      this.shown,
      this.looking,
      button("icon phone", words.newThread, "edit", () => app.begin()),
    );
  }

  /** What surely works, one click away from every conversation. */
  examples() {
    const entries = examples(this.app).map(([text, title, act, [sign] = ["chat"]]) => ({
      label: text,
      hint: title,
      icon: sign,
      act,
    }));
    openMenu(this.shown, entries, { label: this.app.words.examples });
  }

  /** The inspector needs the room of the list. */
  get list() {
    return this.app.inspector.open ? null : this.app.threads.element;
  }

  show() {
    this.draw();
  }

  inspect(tab) {
    const open = this.app.inspector.toggle(tab);
    this.looking.setAttribute("aria-pressed", String(open));
    this.element.classList.toggle("inspecting", open);
    this.app.frame.refit();
  }

  /** Another conversation. */
  reset() {
    this.views.clear();
    this.following = true;
    put(this.log);
    put(this.choice, whom(this.app));
    this.shown.hidden = !this.app.about.examples.length;
    this.composer.answers();
    const { talk } = this.app;
    this.empty(!talk.items.length && !talk.running, true);
    this.draw();
  }

  /** Something changed: it is drawn with the next frame, however often that is. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawn();
    });
  }

  drawn() {
    const { talk } = this.app;
    for (const item of talk.changed) this.card(item).update(item);
    talk.changed.clear();
    this.empty(!talk.items.length && !talk.running);
    this.log.setAttribute("aria-busy", String(talk.running));
    this.composer.running(talk.running);
    this.wait.draw();
    this.suggest(talk.running ? [] : talk.suggestions);
    this.titled();
    this.follow();
  }

  /** The conversation's name, in the bar and in the browser's tab. */
  titled() {
    const name = this.app.threads.title();
    this.title.textContent = name;
    this.title.title = name;
    this.app.frame.titled();
  }

  follow() {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  card(item) {
    let view = this.views.get(item.id);
    if (!view) {
      view = new CARDS[item.kind](item, this.app);
      this.views.set(item.id, view);
      if (view.element) this.log.append(view.element);
    }
    return view;
  }

  /** Whoever scrolls up to read is left there; at the end the newest words are followed. */
  scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.following = true;
    else if (scrollTop < this.top) this.following = false;
    this.top = scrollTop;
  }

  /** Without a word yet: the welcome, with the composer in it; else the composer is below. */
  empty(yes, anew = false) {
    const { opening } = this.app.session;
    const greets = yes && !opening;
    const loading = this.log.querySelector(".opening");
    if (!(yes && opening)) loading?.remove();
    else if (!loading) this.log.append(h("p", { class: "opening dim" }, this.app.words.loading));
    const { element, box } = this.composer;
    if (!anew && greets === Boolean(this.hello) && element.isConnected) return;
    if (anew && !greets && !this.hello && element.isConnected) return;
    // What is put elsewhere loses the focus.
    const focused = element.contains(document.activeElement) || this.hello?.contains(document.activeElement);
    const before = this.hello;
    this.hello = greets ? welcome(this.app, element) : null;
    if (greets) this.scroller.prepend(this.hello);
    else this.inner.append(element);
    before?.remove();
    this.log.hidden = greets;
    this.dock.classList.toggle("bare", greets);
    if (focused) box.focus();
  }

  suggest(prompts) {
    if (prompts === this.prompts || (!prompts.length && !this.prompts?.length)) return;
    this.prompts = prompts;
    const chip = (text) =>
      h("button", { type: "button", class: "btn", onclick: () => this.app.say(text) }, text);
    put(this.hints, prompts.map(chip));
  }

  light() {
    for (const view of this.views.values()) view.light?.();
  }

  tell(text) {
    this.banner.hidden = !text;
    this.banner.textContent = text;
  }
}
