// A button that copies a text and says so for a moment.

import { copied, h, put } from "./dom.js";
import { icon } from "./icons.js";

const SHOWN = 1500;

/** `text` is a string or makes one; `label` says what is copied. */
export function copyButton(text, label, words) {
  const props = { type: "button", class: "icon sm", "aria-label": label, title: label };
  const button = h("button", { ...props, onclick: copy }, icon("copy", "s"));
  async function copy() {
    const done = await copied(typeof text === "function" ? text() : text);
    put(button, icon(done ? "check" : "warn", "s"));
    button.setAttribute("aria-label", done ? words.copied : words.notCopied);
    setTimeout(() => {
      put(button, icon("copy", "s"));
      button.setAttribute("aria-label", label);
    }, SHOWN);
  }
  return button;
}
