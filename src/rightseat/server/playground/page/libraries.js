// What others made and this page uses, fetched when it is first needed. The page works without each of them.

import { BASE } from "./server.js";

const wanted = new Map();
const loaded = new Map();

/** The library once it is here; null where it is not installed. */
export function fetchLibrary(name) {
  if (!wanted.has(name)) {
    const module = import(`${BASE}/playground/vendor/${name}.js`).then(
      (found) => found.default ?? found,
      () => null,
    );
    wanted.set(
      name,
      module.then((library) => {
        loaded.set(name, library);
        return library;
      }),
    );
  }
  return wanted.get(name);
}

/** The library if it is here already; undefined while it is not known, null where it is not installed. */
export const library = (name) => loaded.get(name);
