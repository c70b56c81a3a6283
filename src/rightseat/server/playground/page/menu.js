// A menu that opens at a button: arrows walk in it, Escape or a click elsewhere closes it and gives the focus back.

import { h } from "./dom.js";
import { icon } from "./icons.js";

const GAP = 4;

/** `entries` are {label, act, icon, hint, key, bad}; `null` is a line between two groups. */
export function openMenu(opener, entries, { label }) {
  closeMenu?.(true);
  const items = entries.map((entry) => (entry ? item(entry) : h("hr", { role: "separator" })));
  const buttons = items.filter((one) => one.tagName === "BUTTON");
  const menu = h("div", { class: "menu floating", role: "menu", "aria-label": label, onkeydown: key }, items);
  document.body.append(menu);
  place(menu, opener);
  opener.setAttribute("aria-expanded", "true");
  addEventListener("pointerdown", outside, true);
  addEventListener("resize", leave);
  buttons[0]?.focus();
  closeMenu = leave;

  function item({ label: text, act, icon: sign, hint, key: shortcut, bad }) {
    const run = () => {
      leave(true);
      act();
    };
    const props = { type: "button", role: "menuitem", tabindex: "-1", class: bad ? "bad" : null };
    const name = hint
      ? h("span", { class: "col" }, h("span", {}, text), h("small", { class: "dim" }, hint))
      : h("span", {}, text);
    const kbd = shortcut ? h("span", { class: "kbd desk", "aria-hidden": "true" }, shortcut) : null;
    return h("button", { ...props, onclick: run }, sign ? icon(sign, "s") : null, name, kbd);
  }

  function leave(back) {
    if (!menu.isConnected) return;
    const inside = menu.contains(document.activeElement);
    menu.remove();
    opener.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", outside, true);
    removeEventListener("resize", leave);
    closeMenu = null;
    if (back === true && inside && opener.isConnected) opener.focus();
  }

  function outside(event) {
    if (!menu.contains(event.target) && !opener.contains(event.target)) leave();
  }

  function key(event) {
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next !== undefined) buttons[(next + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") leave(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

let closeMenu = null;

/** Below its button, or above where there is no room; never outside the window. */
function place(menu, opener) {
  const from = opener.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = from.bottom + GAP;
  const top = below + height > innerHeight ? Math.max(GAP, from.top - height - GAP) : below;
  const left = Math.max(GAP, Math.min(from.left, innerWidth - width - GAP));
  menu.style.setProperty("top", `${top}px`);
  menu.style.setProperty("left", `${left}px`);
}
