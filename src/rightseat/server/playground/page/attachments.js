// Files that go with a message: read into AG-UI's content parts, and shown as they were sent.

import { h } from "./dom.js";
import { icon } from "./icons.js";

// The server takes 10 MB in one request unless it is told otherwise, and base64 makes a file a third larger.
const MOST = 7_000_000;

export class TooLarge extends Error {}

/** A file as a part of a message. */
export async function part(file) {
  if (file.size > MOST) throw new TooLarge(file.name);
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  const mimeType = file.type || "application/octet-stream";
  const value = url.slice(url.indexOf(",") + 1);
  const type = mimeType.startsWith("image/") ? "image" : "document";
  return { type, source: { type: "data", value, mimeType }, metadata: { filename: file.name } };
}

/** A message's content: a text alone, or a text with its files. */
export function content(text, parts) {
  return parts.length ? [...(text ? [{ type: "text", text }] : []), ...parts] : text;
}

/** The parts of a message that are no text. */
export function files(content) {
  return Array.isArray(content) ? content.filter((one) => one.type !== "text") : [];
}

/** Its parts to look at, each with a way to take it out again where `remove` is given. */
export function shelf(parts, words, remove) {
  return h(
    "ul",
    { class: "files", "aria-label": words.attached },
    parts.map((one) => {
      const name = one.metadata?.filename ?? one.filename ?? one.type;
      const label = `${words.remove}: ${name}`;
      const away = () => remove(one);
      const button = h(
        "button",
        { type: "button", class: "icon sm", "aria-label": label, onclick: away },
        icon("x", "xs"),
      );
      return h("li", {}, preview(one, name), remove ? button : null);
    }),
  );
}

function preview(one, name) {
  const { type, value, mimeType } = one.source ?? {};
  // Pictures from elsewhere are not loaded: who shows them would learn who looks.
  const drawn = one.type === "image" && type === "data" && /^image\/(png|jpeg|gif|webp)$/.test(mimeType);
  return drawn
    ? h("img", { src: `data:${mimeType};base64,${value}`, alt: name })
    : h("span", { class: "row" }, icon("file", "s"), h("span", { class: "cut", title: name }, name));
}
