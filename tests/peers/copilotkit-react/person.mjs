// The person before the page: what they do, and what they see.
// For all of a case; its driver waits a little longer.
const PATIENCE = 50_000;
const BEAT = 15;
const SEND = "[data-test-id=copilot-chat-ready]";
const beat = () => new Promise((resolve) => setTimeout(resolve, BEAT));
const spoken = (node) => node.textContent.replace(/\s+/g, " ").trim();

export class Person {
  late = [];
  end = Date.now() + PATIENCE;

  async until(what, holds) {
    while (!holds()) {
      if (Date.now() > this.end) {
        this.late.push(`${what}; seen: ${document.body.textContent.slice(0, 600)}`);
        return false;
      }
      await beat();
    }
    return true;
  }

  // Like `until`, for what a person would hardly see: asked at every change of the page.
  async moment(what, holds) {
    let came = false;
    const look = () => {
      came ||= holds();
    };
    const observer = new window.MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
    await this.until(what, () => came);
    observer.disconnect();
  }

  find(selector, words) {
    return [...document.querySelectorAll(selector)].find((node) => !words || spoken(node).includes(words));
  }

  sees(words, selector = "body") {
    return this.until(words, () => this.find(selector, words));
  }

  get busy() {
    return this.find("[data-copilotkit-in-progress=true]") !== undefined;
  }

  // What is busy flickers: between two requests of one turn there is a moment of none.
  async calm(busy) {
    for (let beats = 0; beats < 4; ) {
      if (!(await this.until("calm", () => !busy()))) return;
      await beat();
      beats = busy() ? 0 : beats + 1;
    }
  }

  rest() {
    return this.calm(() => this.busy);
  }

  async type(words, selector = ".copilotKitInput textarea") {
    await this.until("a place to type", () => this.find(selector));
    const field = this.find(selector);
    Object.getOwnPropertyDescriptor(window.HTMLTextAreaElement.prototype, "value").set.call(field, words);
    field.dispatchEvent(new window.Event("input", { bubbles: true }));
    await beat();
    return field;
  }

  async say(words) {
    await this.until("a free chat", () => this.find(SEND));
    await this.type(words);
    const before = document.querySelectorAll(".copilotKitUserMessage").length;
    await this.until("a button that sends", () => this.find(`${SEND}:enabled`));
    this.find(SEND).click();
    await this.until(`my words: ${words}`, () => document.querySelectorAll(".copilotKitUserMessage").length > before);
  }

  async press(words, selector = "button") {
    if (await this.sees(words, selector)) {
      this.find(selector, words).click();
    }
  }

  look() {
    const parts = [...document.querySelectorAll(".copilotKitMessage")];
    const rest = document.body.cloneNode(true);
    for (const part of rest.querySelectorAll(".copilotKitChat, .page, script, style, svg, button")) part.remove();
    const who = (part) => (part.classList.contains("copilotKitUserMessage") ? "user" : "assistant");
    return {
      messages: parts.map((part) => [who(part), spoken(part)]),
      cards: [...document.querySelectorAll("[data-card]")].map((card) => [card.dataset.card, spoken(card)]),
      beside: spoken(rest),
      busy: this.busy,
    };
  }
}
