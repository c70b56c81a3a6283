// A browser's window without a browser: what pages expect of one, and a wire that stays on this machine.
import { createRequire } from "node:module";

const PAGE = "http://localhost:3000/";
// Node's own stay: its fetch takes only its own signals and streams.
const NODES = new Set(["AbortController", "AbortSignal", "Headers", "FormData", "Blob", "File"]);

class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}

export function openWindow(home) {
  const { JSDOM } = createRequire(`${home}/package.json`)("jsdom");
  const page = '<!doctype html><body><div id="root"></div></body>';
  const { window } = new JSDOM(page, { url: PAGE, pretendToBeVisual: true });
  const lacking = Object.getOwnPropertyNames(window).filter((name) => !(name in globalThis) && !NODES.has(name));
  for (const name of ["window", "navigator", "Event", "CustomEvent", ...lacking]) {
    Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
  }
  for (const name of ["ResizeObserver", "IntersectionObserver"]) globalThis[name] = window[name] = Observer;
  const unmatched = { matches: false, addEventListener() {}, removeEventListener() {} };
  window.matchMedia = globalThis.matchMedia = (media) => ({ media, ...unmatched });
  const { Element, HTMLElement } = window;
  window.scrollTo = Element.prototype.scrollTo = Element.prototype.scrollIntoView = () => {};
  Object.defineProperty(HTMLElement.prototype, "isContentEditable", {
    get() {
      return this.closest("[contenteditable=true]") !== null;
    },
  });
}

// Stands in for the page's fetch. Pages of CopilotKit also ask for news and licences at their makers': as offline.
export class Wire {
  asked = 0;
  open = 0;
  connected = 0;

  constructor() {
    const fetched = globalThis.fetch;
    globalThis.fetch = window.fetch = async (input, options = {}) => {
      const { hostname, pathname } = new URL(input.url ?? input, PAGE);
      if (hostname !== "127.0.0.1") throw new TypeError("Failed to fetch");
      const headers = new Headers(options.headers ?? input.headers);
      headers.set("origin", new URL(PAGE).origin);
      this.asked++;
      this.open++;
      try {
        return await fetched(input, { ...options, headers });
      } finally {
        this.open--;
        this.connected += pathname.endsWith("/connect");
      }
    };
  }
}
