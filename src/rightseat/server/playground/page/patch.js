// RFC 6902: how an agent says what is new in its state.

/** The value after the patch. The old one is left as it is. */
export function patched(value, patch) {
  const root = { value: structuredClone(value) };
  for (const change of patch) apply(root, change);
  return root.value;
}

function apply(root, { op, path, from, value }) {
  if (op === "move" || op === "copy") {
    const found = structuredClone(look(root, from));
    if (op === "move") apply(root, { op: "remove", path: from });
    apply(root, { op: "add", path, value: found });
    return;
  }
  const keys = split(path);
  const name = keys.pop();
  const place = step(root, keys);
  if (place === null || typeof place !== "object" || name === "__proto__") return;
  if (Array.isArray(place)) inList(place, op, name, value);
  else if (op === "remove") delete place[name];
  else if (op !== "test") place[name] = value;
}

function inList(list, op, name, value) {
  if (op === "remove") list.splice(Number(name), 1);
  else if (op === "add") list.splice(name === "-" ? list.length : Number(name), 0, value);
  else if (op === "replace") list[Number(name)] = value;
}

const split = (path) => [
  "value",
  ...path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")),
];
const look = (root, path) => step(root, split(path));

/** Only what is there itself: a path must not reach what all objects share. */
function step(root, keys) {
  return keys.reduce((at, key) => (at && Object.hasOwn(Object(at), key) ? at[key] : null), root);
}
