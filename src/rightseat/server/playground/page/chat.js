// The conversation: what was said, what happens now, and the place to write.

import { h, put } from "./dom.js";
import { ArtifactCard } from "./artifacts.js";
import { CallCard, CitationsCard, FailureCard, NestedCard, NoteCard, ReasoningCard } from "./cards.js";
import { Composer } from "./composer.js";
import { topbar } from "./frame.js";
import { icon } from "./icons.js";
import { MessageCard } from "./messages.js";
import { QuestionCard } from "./questions.js";
import { welcome } from "./welcome.js";

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
    this.hints = h("div", { class: "chips", role: "group", "aria-label": words.suggestions });
    this.composer = new Composer(app);
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: "-1", onscroll: () => this.scrolled() },
      this.log,
    );
    const talk = h(
      "section",
      { class: "chat", "aria-label": words.chat },
      this.scroller,
      this.banner,
      this.hints,
      this.composer.element,
    );
    const looking = {
      type: "button",
      class: "btn quiet",
      "aria-pressed": "false",
      onclick: () => this.inspect(),
    };
    this.looking = h("button", looking, icon("trace", "s"), words.inspector);
    this.choice = h("div", { class: "row" });
    const bar = topbar(app, { list: words.threads }, this.choice, h("span", { class: "grow" }), this.looking);
    this.element = h("div", { class: "view" }, bar, h("div", { class: "body" }, talk, app.inspector.element));
    this.views = new Map();
    this.prompts = null;
    this.waiting = false;
    this.following = true;
    this.top = 0;
    // Also what grows by itself, such as a chart: the end stays in sight.
    new ResizeObserver(() => this.follow()).observe(this.log);
  }

  /** The inspector needs the room of the list. */
  get list() {
    return this.app.inspector.open ? null : this.app.threads.element;
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
    this.suggest(talk.running ? [] : talk.suggestions);
    this.follow();
  }

  follow() {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  card(item) {
    let view = this.views.get(item.id);
    if (!view) {
      view = new CARDS[item.kind](item, this.app);
      this.views.set(item.id, view);
      this.log.append(view.element);
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

  empty(yes) {
    const wanted = !yes ? "" : this.app.session.opening ? "opening" : "welcome";
    const shown = this.log.querySelector(".welcome, .opening");
    if (shown?.classList.contains(wanted || "-")) return;
    shown?.remove();
    if (wanted === "welcome") this.log.append(welcome(this.app));
    else if (wanted) this.log.append(h("p", { class: "opening dim" }, this.app.words.loading));
  }

  suggest(prompts) {
    if (prompts === this.prompts || (!prompts.length && !this.prompts?.length)) return;
    this.prompts = prompts;
    const chip = (text) =>
      h("button", { type: "button", class: "chip", onclick: () => this.app.say(text) }, text);
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
