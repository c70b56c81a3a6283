// A short report at the bottom of the page, with a way back for some seconds.

import { h } from "./dom.js";

const LONG = 8000;

let last = null;

/** `undo` takes it back; `kept` is called when the time is over, or at once when another report comes. */
export function toast(text, { undo, undoWord, kept = () => {} }) {
  last?.();
  let timer = null;
  const back = () => {
    end();
    undo();
  };
  const button = h("button", { type: "button", onclick: back }, undoWord);
  const element = h(
    "div",
    {
      class: "toast",
      role: "status",
      onpointerenter: stay,
      onpointerleave: go,
      onfocusin: stay,
      onfocusout: go,
    },
    h("span", { class: "cut" }, text),
    button,
  );
  document.body.append(element);
  last = over;
  go();
  return { element, button };

  function stay() {
    clearTimeout(timer);
  }
  function go() {
    clearTimeout(timer);
    timer = setTimeout(over, LONG);
  }
  function end() {
    clearTimeout(timer);
    element.remove();
    last = null;
  }
  function over() {
    end();
    kept();
  }
}

/** What waits for its time to be over is done now: the page goes away. */
export const settle = () => last?.();
