// Colours for code, by highlight.js: classes only, the colours are the page's own.

import { library } from "./libraries.js";

// Longer code is not read on a screen.
const LONGEST = 50_000;

/** {html, name} of code in a language; html is null where it stays plain. */
export function highlighted(code, language) {
  const known = library("highlight")?.getLanguage(language);
  if (!known || code.length > LONGEST) return { html: null, name: known?.name ?? language };
  const { value } = library("highlight").highlight(code, { language, ignoreIllegals: true });
  return { html: value, name: known.name.split(",")[0] };
}
