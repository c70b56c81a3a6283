// Elements by hand: text is always text. Nothing here, or anywhere in this page, writes HTML from a string.

/** h("button", {class: "big", onclick: go, "aria-label": "Go"}, "Go", icon) */
export function h(tag, props = {}, ...children) {
  return fill(dress(document.createElement(tag), props), children);
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for pictures. */
export function s(tag, props = {}, ...children) {
  return fill(dress(document.createElementNS(SVG, tag), props), children);
}

function dress(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  return element;
}

function fill(element, children) {
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Replaces what is in an element. */
export function put(element, ...children) {
  element.replaceChildren();
  return fill(element, children);
}

/** Something to open, made when it is: most of what a page could show is never looked at. */
export function folded(props, summary, make) {
  const element = h("details", props, h("summary", {}, summary));
  element.addEventListener("toggle", () => fill(element, [make()]), { once: true });
  return element;
}

/** A button that copies a text and says so. */
export function copier(text, words) {
  const button = h("button", { type: "button", class: "btn quiet sm", onclick: copy }, words.copy);
  async function copy() {
    const done = await copied(typeof text === "function" ? text() : text);
    button.textContent = done ? words.copied : words.notCopied;
    setTimeout(() => (button.textContent = words.copy), 1500);
  }
  return button;
}

/** A page that came over plain HTTP from another machine has no clipboard; the older way may still do. */
export async function copied(text) {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const box = h("textarea", { value: text, class: "skip" });
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}

/** Offers a text as a file. */
export function download(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
