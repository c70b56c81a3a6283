// The providers of models: their badge and the fields of their form.

import { icon } from "./icons.js";

/** `key`: "" no key, "needed" or "optional". `local`: what is said stays on this machine. */
export const PROVIDERS = {
  ollama: { badge: "Ol", address: "addressField", key: "", local: true },
  lmstudio: { badge: "LM", address: "addressField", key: "", local: true },
  openai: { badge: "Ai", address: "addressField", key: "needed" },
  anthropic: { badge: "An", address: "", key: "needed" },
  google: { badge: "Go", address: "", key: "needed" },
  azure: { badge: "Az", address: "endpointField", key: "needed", azure: true },
  gguf: { badge: icon.bind(null, "file"), address: "", key: "", local: true },
  compatible: { badge: "vL", address: "addressField", key: "optional" },
};

export const badgeOf = (name) => {
  const { badge } = PROVIDERS[name];
  return typeof badge === "string" ? badge : badge();
};

/** Whether the server's list of models can be asked for. */
export const LISTS = new Set(["ollama", "lmstudio", "openai", "compatible"]);

/** A form in its first state. The models that were found are proposed. */
export function emptyForm(found) {
  const { address, local } = PROVIDERS[found.name];
  const proposed = found.models?.[0]?.name ?? "";
  return {
    provider: found.name,
    model: proposed,
    base_url: address && local ? (found.base_url ?? "") : "",
    api_key: "",
    deployment: "",
    api_version: "",
    fallback: false,
    write: false,
  };
}

export const gigabytes = (bytes) => (bytes ? `${(bytes / 1e9).toFixed(1)} GB` : "");

export const seconds = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(2)} s`);
