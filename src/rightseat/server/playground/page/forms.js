// A form made from a JSON Schema: what a person is asked for, in fields of the right kind.

import { h } from "./dom.js";
import { learn } from "./words.js";

learn("en", { fieldOptional: "optional" });
learn("zh", { fieldOptional: "可选" });

/** {element, value()}: value() is what was entered, without what was left empty; null while a field is wrong,
 * which says so itself. */
export function form(schema, words, given = {}) {
  const required = new Set(schema?.required ?? []);
  const fields = Object.entries(schema?.properties ?? {}).map(([name, one]) =>
    field(name, one, required.has(name), words, given[name]),
  );
  const entered = () =>
    fields.map((one) => [one.name, one.value()]).filter(([, value]) => value !== undefined);
  const value = () => {
    try {
      return Object.fromEntries(entered());
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  };
  const inner = fields.map((one) => one.element);
  return { element: h("div", { class: "fields" }, inner), value };
}

let count = 0;

/** One field. `value()` is undefined where nothing was entered. */
export function field(name, schema, required, words, given) {
  const id = `field-${(count += 1)}`;
  const simple = chosen(schema ?? {});
  const { element, value } = input(simple, { id, required, class: "input" }, words, given ?? simple.default);
  const hint = simple.description
    ? h("small", { id: `${id}-hint`, class: "hint" }, simple.description)
    : null;
  if (hint) element.setAttribute("aria-describedby", hint.id);
  const must = required
    ? h("span", { class: "must", "aria-hidden": "true" }, " *")
    : h("span", { class: "optional", "aria-hidden": "true" }, ` · ${words.fieldOptional}`);
  const label = h("label", { for: id }, simple.title ?? name, must);
  return { name, element: h("div", { class: "field" }, label, element, hint), value };
}

/** Where one of several kinds will do, the first that is something. */
function chosen(schema) {
  const kinds = schema.anyOf ?? schema.oneOf;
  const first = kinds?.find((one) => one.type !== "null");
  return first ? { ...first, ...schema } : schema;
}

function input(schema, common, words, given) {
  if (schema.enum)
    return choice(
      common,
      schema.enum.map((one) => [one, String(one)]),
      given,
    );
  const inside = schema.properties ? "object" : "string";
  const kind = [schema.type].flat().find((one) => one !== "null") ?? inside;
  if (kind === "boolean")
    return choice(
      common,
      [
        [true, words.yes],
        [false, words.no],
      ],
      given,
    );
  if (kind === "integer" || kind === "number") return number(schema, kind, common, given);
  if (kind === "object" || kind === "array") return json(kind, common, words, given);
  return text(schema, common, given);
}

function choice(common, options, given) {
  const nothing = h("option", { value: "" }, "—");
  const element = h(
    "select",
    common,
    nothing,
    options.map(([, label], at) => h("option", { value: at }, label)),
  );
  const at = options.findIndex(([one]) => one === given);
  if (at >= 0) element.value = at;
  return { element, value: () => (element.value === "" ? undefined : options[Number(element.value)][0]) };
}

function number({ minimum: min, maximum: max }, kind, common, given) {
  const step = kind === "integer" ? 1 : "any";
  const element = h("input", { ...common, type: "number", step, min, max, value: given ?? "" });
  return { element, value: () => (element.value === "" ? undefined : Number(element.value)) };
}

function json(kind, common, words, given) {
  const value = given === undefined ? "" : JSON.stringify(given);
  const placeholder = kind === "array" ? "[]" : "{}";
  const element = h("textarea", {
    ...common,
    class: "input mono",
    rows: 3,
    spellcheck: "false",
    placeholder,
    value,
  });
  return { element, value: () => parsed(element, words) };
}

const TYPES = {
  date: "date",
  "date-time": "datetime-local",
  email: "email",
  uri: "url",
  password: "password",
};

function text({ format, minLength: minlength, maxLength: maxlength }, common, given) {
  const type = TYPES[format] ?? "text";
  const limits = { minlength, maxlength, autocomplete: "off" };
  const element = h("input", { ...common, ...limits, type, value: given ?? "" });
  // A browser's date and time is the person's own; a schema's needs to say where on earth.
  const entered = () => (format === "date-time" ? new Date(element.value).toISOString() : element.value);
  return { element, value: () => (element.value === "" ? undefined : entered()) };
}

function parsed(element, words) {
  if (!element.value.trim()) return undefined;
  try {
    return JSON.parse(element.value);
  } catch (error) {
    element.setCustomValidity(words.notJson);
    element.reportValidity();
    element.addEventListener("input", () => element.setCustomValidity(""), { once: true });
    throw error;
  }
}
