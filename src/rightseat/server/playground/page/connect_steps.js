// One step of connecting a front end, and one line of what was checked.

import "./connect_words.js";
import { inLanguage } from "./server_words.js";
import { h, copier } from "./dom.js";
import { icon } from "./icons.js";
import * as server from "./server.js";

const SIGNS = { good: ["ok", "check"], broken: ["bad", "x"], skipped: ["off", "minus"] };

/** A text with the key in the place of its name: escaped for double quotes of a shell, or of a program. */
export function withKey(text, kind, key) {
  const quoted = kind === "shell" ? key.replace(/[\\"$`]/g, "\\$&") : JSON.stringify(key).slice(1, -1);
  return text.replaceAll("$RIGHTSEAT_KEY", () => (kind === "text" ? key : quoted));
}

/** A step with its text and the button that copies it. */
export function stepOf(app, step, text, number) {
  const { words, language } = app;
  const known = server.key.get();
  const shown = step.note[language] ?? "";
  const replaced = text.includes("$RIGHTSEAT_KEY") && (known ? words.keyFilled : words.keyHere);
  const exported = text.includes("RIGHTSEAT_KEY") && words.keyShell;
  const hint = step.kind === "shell" && !known ? exported : replaced || exported;
  const copy = copier(() => (known ? withKey(text, step.kind, known) : text), words);
  copy.className = "btn quiet sm";
  return h(
    "li",
    {},
    h("span", { class: "no", "aria-hidden": "true" }, String(number)),
    h(
      "div",
      {},
      h("h3", { class: "lab" }, step.title[language]),
      shown || hint ? h("p", { class: "mid small" }, [shown, hint].filter(Boolean).join(" ")) : null,
      h(
        "div",
        { class: "code" },
        h(
          "div",
          { class: "head" },
          h("span", { class: "cut" }, step.file),
          h("span", { class: "grow" }),
          copy,
        ),
        h("pre", { tabindex: "0" }, text),
      ),
    ),
  );
}

/** A check: what, and how it went. */
export function lineOf(app, { state, what, why, fix }) {
  const { words } = app;
  const [tone, sign] = SIGNS[state];
  const mend =
    fix && state !== "good"
      ? h("p", { class: "why" }, `${words.fix}: `, h("code", {}, inLanguage(fix, app)))
      : null;
  return h(
    "li",
    { class: state },
    h("span", { class: `st ${tone}` }, icon(sign)),
    h("span", {}, inLanguage(what, app)),
    h("span", { class: "tm" }, inLanguage(why, app)),
    mend,
  );
}
