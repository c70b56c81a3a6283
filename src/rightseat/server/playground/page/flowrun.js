// What a flow is made of and what a run of it did. No document is touched here.

const LINE = 30 * 7.2;
const width = (text) => [...text].reduce((sum, char) => sum + (char > "\u2e7f" ? 13 : 7.2), 0);

/** A box as {name, kind, detail, shape}. The server sends its text in lines: "name (kind)", then the detail. */
export function describeBox({ name, lines, shape }) {
  const plain = (text) => text.replace(/\s+/g, "");
  let title = "";
  let at = 0;
  const full = (text) =>
    text === plain(name) ? shape === "end" : text.startsWith(`${plain(name)}(`) && text.endsWith(")");
  while (at < lines.length && !full(title)) title += plain(lines[at++]);
  const kind = shape === "end" ? "" : title.slice(plain(name).length + 1, -1);
  return { name, kind, detail: join(lines.slice(at)), shape };
}

/** Lines as one text. A line without spaces that is full was cut inside a word. */
function join(lines) {
  return lines.reduce((text, line, at) => {
    const before = lines[at - 1];
    const cut = before && !before.includes(" ") && width(before) + width(line[0]) > LINE;
    return at === 0 ? line : `${text}${cut ? "" : " "}${line}`;
  }, "");
}

/** "GET /a/b/c/d" as "GET …/b/c/d": what tells paths apart is at their end. */
export function shortPath(text, most = 38) {
  const found = /^([A-Z]+) (\/\S*)$/.exec(text);
  if (!found || text.length <= most) return text;
  const [, method, path] = found;
  let kept = "";
  for (const part of path.split("/").reverse()) {
    if (kept && kept.length + part.length + method.length + 3 > most) break;
    kept = `/${part}${kept}`;
  }
  return `${method} …${kept}`;
}

/** The steps that a run took, in their order: {name, kind, began, ended, input, output, error, message, state}. */
export function listVisits(talk, flow) {
  const visits = [];
  for (const { event, at } of talk.log) {
    if (event.type !== "CUSTOM" || event.name !== "flow_step" || event.value?.flow !== flow.id) continue;
    const { step: name, kind, input, output, error, message } = event.value;
    const known = visits.findLast((visit) => visit.name === name && !visit.ended);
    if (input !== undefined) {
      // After a question the same step goes on.
      if (known) Object.assign(known, { began: at });
      else visits.push({ name, kind, input, began: at });
    } else if (known) Object.assign(known, { output, error, message, ended: at });
  }
  for (const visit of visits) visit.state = stateOf(visit, talk);
  return visits;
}

function stateOf({ ended, error }, talk) {
  if (error) return "failed";
  if (ended) return "done";
  if (talk.questions.length) return "asking";
  return talk.running ? "running" : "cut";
}

/** "running", "asking", "failed", "stopped" or "done"; "" before the first run. */
export function runState(talk) {
  if (!talk.items.length) return "";
  if (talk.running) return "running";
  if (talk.questions.length) return "asking";
  const last = talk.items.findLast(({ kind }) => kind === "failure" || kind === "note" || kind === "message");
  if (last?.kind === "failure") return "failed";
  return last?.kind === "note" && last.word === "stopped" ? "stopped" : "done";
}

/** The numbers of the lines that a run went along. */
export function takenLines(flow, visits) {
  const boxes = new Set(flow.boxes.map((box) => box.name));
  const names = visits.map((visit) => visit.name).filter((name) => boxes.has(name));
  const done = visits.at(-1)?.state === "done";
  // An end that is no step of its own is reached by the last step.
  const ended = done && boxes.has("end") && names.at(-1) !== "end" ? [...names, "end"] : names;
  const pairs = new Set(ended.slice(1).map((name, at) => `${ended[at]}\n${name}`));
  return new Set(
    flow.lines.flatMap(({ source, target }, number) => (pairs.has(`${source}\n${target}`) ? [number] : [])),
  );
}

/** Milliseconds that machines took, without the time that people did; null where they are not known. */
export function runTime(talk, now = Date.now()) {
  if (!talk.runs.length || talk.runs.some((run) => run.replayed)) return null;
  return talk.runs.reduce((sum, run) => sum + ((run.ended ?? now) - run.began), 0);
}

export function runTokens(talk) {
  const all = talk.runs.flatMap((run) => run.usage ?? []);
  return all.reduce((sum, one) => sum + (one.inputTokens ?? 0) + (one.outputTokens ?? 0), 0);
}
