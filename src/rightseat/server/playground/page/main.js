// The page as a whole: which view is shown, who is asked, in which language and light.

import { h, put } from "./dom.js";
import { ApiView } from "./api.js";
import { files } from "./attachments.js";
import { Chat } from "./chat.js";
import { FlowsView } from "./flows.js";
import { Frame } from "./frame.js";
import { Inspector } from "./inspector.js";
import { PluginsView } from "./plugins.js";
import { Session } from "./session.js";
import { ConnectView } from "./connect.js";
import { ModelsView } from "./models.js";
import { Threads } from "./threads.js";
import { ThreadsView } from "./all_threads.js";
import { learnSentences } from "./server_words.js";
import { settle } from "./toast.js";
import { door } from "./welcome.js";
import { language, languages, speak } from "./words.js";
import * as server from "./server.js";

const VIEWS = {
  chat: Chat,
  flows: FlowsView,
  models: ModelsView,
  plugins: PluginsView,
  connect: ConnectView,
  api: ApiView,
  threads: ThreadsView,
};
const THEME = "rightseat.theme";

class App {
  constructor() {
    this.language = language();
    // Until a person chooses, the page follows the system.
    if (localStorage.getItem(THEME)) this.light(localStorage.getItem(THEME));
    addEventListener("hashchange", () => this.session && this.arrive());
    addEventListener("rightseat:key", () => door(this, Boolean(server.key.get())));
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("pagehide", settle);
    document.addEventListener("visibilitychange", () => this.looked());
  }

  get words() {
    return languages[this.language];
  }

  get talk() {
    return this.session.talk;
  }

  /** Who is asked where nobody else was chosen. */
  get first() {
    return this.about.assistants[0]?.name ?? "default";
  }

  async start() {
    const place = document.querySelector("#app");
    put(place, h("p", { class: "pad dim", role: "status" }, this.words.loading));
    try {
      await learnSentences(this.language);
      this.about = await server.get("/playground/about");
    } catch (error) {
      if (error.status === 401) return door(this, Boolean(server.key.get()));
      const again = h(
        "button",
        { type: "button", class: "btn ink", onclick: () => this.start() },
        this.words.retry,
      );
      const told = h("p", {}, error.status ? error.message : this.words.offline);
      return put(
        place,
        h("main", { class: "gate" }, h("section", { class: "card pad col key", role: "alert" }, told, again)),
      );
    }
    this.session = new Session({
      shown: () => this.draw(),
      told: (text) => this.chat.tell(text),
      words: () => this.words,
      listed: () => this.threads.show(),
      restarted: () => this.redraw(),
      returned: ({ text, content }) => (this.chat.composer.draft = { text, parts: files(content) }),
    });
    this.session.agent = this.first;
    this.build();
    this.redraw();
    return this.arrive();
  }

  unlock(key) {
    server.key.set(key);
    this.start();
  }

  /** Everything that has words in it: built anew when the language changes. */
  build() {
    document.documentElement.lang = this.language;
    this.threads = new Threads(this);
    this.inspector = new Inspector(this);
    this.chat = new Chat(this);
    this.views = { chat: this.chat };
    this.frame = new Frame(this);
    put(document.querySelector("#app"), this.frame.elements);
    this.threads.show();
  }

  draw() {
    this.chat.draw();
    this.inspector.draw();
    this.views.flows?.draw();
  }

  /** From the first word: another conversation, or the same one in other words. */
  redraw() {
    this.chat.reset();
    this.talk.items.forEach((item) => this.talk.touch(item));
    this.draw();
  }

  go(view, ...rest) {
    location.hash = `#/${[view, ...rest.map(encodeURIComponent)].join("/")}`;
  }

  /** Where the address leads. */
  arrive() {
    const [view = "", agent, thread] = location.hash.slice(2).split("/").map(decodeURIComponent);
    if (!view && location.pathname.endsWith("/docs")) return this.go("api");
    const name = view in VIEWS ? view : "chat";
    if (this.frame.name === "models" && name === "chat") this.refresh();
    this.views[name] ??= new VIEWS[name](this);
    this.frame.show(name, this.views[name]);
    if (name !== "chat") return this.views[name].show();
    if (thread && thread !== this.session.thread) {
      const opened = this.session.open(thread, agent);
      this.changed();
      return opened;
    }
    if (agent && agent !== this.session.agent) {
      this.session.fresh(agent);
      this.changed();
    }
    return this.chat.draw();
  }

  /** Another model may answer now. */
  async refresh() {
    this.about = await server.get("/playground/about").catch(() => this.about);
    this.redraw();
  }

  /** Another conversation is shown. */
  changed() {
    this.redraw();
    this.frame.list(false);
    this.threads.show();
  }

  /** A new conversation, with the first assistant unless another one is chosen. */
  begin(agent = this.first) {
    this.session.fresh(agent);
    this.changed();
    this.go("chat", agent);
    this.arrive();
    this.chat.composer.box.focus();
  }

  /** The address names the conversation, so that a reload finds it again. */
  kept(view = "chat") {
    const { agent, thread } = this.session;
    const names = view === "chat" ? [agent, thread].map(encodeURIComponent) : [];
    history.replaceState(null, "", `#/${[view, ...names].join("/")}`);
  }

  say(content) {
    this.kept();
    this.chat.following = true;
    return this.session.say(content);
  }

  example(one, text) {
    const wanted = one.assistant ?? this.first;
    if (wanted !== this.session.agent || this.talk.items.length) this.begin(wanted);
    return this.say(text);
  }

  /** What happened behind a message. */
  reveal(id) {
    if (!this.inspector.open) this.chat.inspect();
    this.inspector.reveal?.(id);
  }

  answer(question, answer) {
    return this.session.answer(question, answer);
  }

  stop() {
    return this.session.stop();
  }

  retry() {
    const asked = this.session.retry();
    this.redraw();
    return asked;
  }

  branch(item, content) {
    return this.branched(this.session.branch(item, content));
  }

  again(item) {
    return this.branched(this.session.again(item));
  }

  branched(asked) {
    this.redraw();
    this.kept();
    this.chat.composer.box.focus();
    return asked;
  }

  /** Back from another tab, which may have gone on with this conversation. */
  async looked() {
    if (document.hidden || !this.session || this.talk.running || !(await this.threads.grown())) return;
    await this.session.reopen();
  }

  light(theme) {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(THEME, theme);
    this.chat?.light();
  }

  async translate() {
    const { draft } = this.chat.composer;
    const { open, tab } = this.inspector;
    this.language = this.language === "en" ? "zh" : "en";
    speak(this.language);
    await learnSentences(this.language);
    this.build();
    this.arrive();
    this.redraw();
    this.chat.composer.draft = draft;
    if (open) this.chat.inspect(tab);
    const places = [...document.querySelectorAll("[data-tongue], .rail button")];
    places.find((one) => one.checkVisibility())?.focus();
  }

  key(event) {
    if (!this.session || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (this.frame.listing) this.frame.list(false);
      else if (this.talk.running) this.stop();
    }
    if (!event.metaKey && !event.ctrlKey) return;
    const act = SHORTCUTS[`${event.shiftKey ? "shift " : ""}${event.key.toLowerCase()}`];
    if (!act) return;
    event.preventDefault();
    act(this);
  }

  /** The search of the place that is shown; the conversations' one where it has none. */
  find() {
    if (this.inspector.open && this.frame.name === "chat") this.chat.inspect();
    const search = () => this.frame.element.querySelector(".search input, input[type=search]");
    if (!search()) this.go("threads");
    this.frame.list(true);
    search()?.focus();
  }
}

const SHORTCUTS = {
  k: (app) => app.find(),
  "shift o": (app) => app.begin(),
  i: (app) => app.frame.name === "chat" && app.chat.inspect(),
};

new App().start();
