// What can be sent to a route: an example of its body, and the fields that it may have. No document is touched here.

const QUESTION = "What time is it?";
const RUN = { threadId: "thread-1", runId: "run-1", state: {}, tools: [], context: [], forwardedProps: {} };
/** Of the bodies that people send first; the others are made from their schema. */
const BODIES = {
  ChatRequest: { model: "default", messages: [{ role: "user", content: QUESTION }], stream: false },
  CompletionRequest: { model: "default", prompt: "Once upon a time", max_tokens: 32 },
  EmbeddingRequest: { input: "A text" },
  RunAgentInput: { ...RUN, messages: [{ id: "message-1", role: "user", content: QUESTION }] },
  OpenBBQuery: { messages: [{ role: "human", content: QUESTION }] },
  CopilotKitBody: { query: "{ hello }" },
  JsonRpcMessage: { jsonrpc: "2.0", id: 1, method: "tools/list" },
};
const DEEP = 4;

const nameOf = (schema) => schema?.$ref?.split("/").pop();

function resolve(schema, document) {
  const name = nameOf(schema);
  return name ? (document.components?.schemas?.[name] ?? {}) : (schema ?? {});
}

/** Where one of several kinds will do, the first that is something. */
function choose(schema, document) {
  const whole = resolve(schema, document);
  const kinds = whole.anyOf ?? whole.oneOf;
  const first = kinds?.find((one) => one.type !== "null");
  return first ? choose(first, document) : whole;
}

export function makeBody(schema, document) {
  return BODIES[nameOf(schema)] ?? sample(schema, document, 0);
}

function sample(schema, document, depth) {
  const whole = choose(schema, document);
  if (whole.default !== undefined && whole.default !== null) return whole.default;
  if (whole.const !== undefined) return whole.const;
  if (whole.enum) return whole.enum[0];
  if (whole.type === "array")
    return whole.minItems && depth < DEEP ? [sample(whole.items, document, depth + 1)] : [];
  if (whole.type === "integer" || whole.type === "number") return whole.minimum ?? 0;
  if (whole.type === "boolean") return false;
  if (whole.type === "string") return "";
  if (!whole.properties || depth >= DEEP) return {};
  const names = (whole.required ?? []).filter((name) => whole.properties[name]);
  return Object.fromEntries(names.map((name) => [name, sample(whole.properties[name], document, depth + 1)]));
}

/** {name, type, required, description} of each field, those that must be there first. */
export function listFields(schema, document) {
  const whole = choose(schema, document);
  const required = new Set(whole.required ?? []);
  const fields = Object.entries(whole.properties ?? {}).map(([name, one]) => ({
    name,
    type: typeOf(one, document),
    required: required.has(name),
    description: one.description ?? "",
  }));
  return fields.sort((a, b) => b.required - a.required);
}

function typeOf(schema, document) {
  const kinds = schema.anyOf ?? schema.oneOf;
  if (kinds)
    return [...new Set(kinds.map((one) => typeOf(one, document)))]
      .filter((one) => one !== "null")
      .join(" | ");
  const whole = resolve(schema, document);
  if (whole.enum) return whole.enum.map((one) => JSON.stringify(one)).join(" | ");
  return [whole.type ?? (whole.properties ? "object" : "any")].flat().join(" | ");
}
