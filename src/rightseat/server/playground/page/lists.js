// What lists have in common: a box to search in, keys to walk with, and on a phone a button that closes them.

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** A box to search in; `label` says what is searched, `hint` the same in short, `shortcut` the key that leads here. */
export function searchBox({ label, hint = label, shortcut }, oninput) {
  const props = { type: "search", class: "input", "aria-label": label, placeholder: hint };
  const input = h("input", { ...props, oninput });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !input.value) return;
    event.stopPropagation();
    input.value = "";
    oninput();
  });
  const kbd = h("span", { class: "kbd desk", "aria-hidden": "true" }, shortcut);
  return { input, element: h("div", { class: "search" }, icon("search", "s"), input, kbd) };
}

/** On a phone the list lies over the page, and can be closed. */
export function phoneCloser(app, onclick = () => app.frame.list(false)) {
  const { close } = app.words;
  const props = { type: "button", class: "icon phone", "aria-label": close, title: close };
  return h("button", { ...props, onclick }, icon("x"));
}

/** J, K and the arrows walk through the entries; / goes to the search. */
export function listKeys(event, input) {
  if (event.target === input && event.key !== "ArrowDown") return;
  if (event.target.closest("form") || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    return input.focus();
  }
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!step) return undefined;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll(".thread")];
  const at = all.indexOf(document.activeElement.closest("[data-thread]")?.querySelector(".thread"));
  return (at + step < 0 ? input : all[Math.min(at + step, all.length - 1)])?.focus();
}
