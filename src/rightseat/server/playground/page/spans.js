// The trace of a conversation as a tree of rows: runs, rounds, and what took time in them. No document is touched
// here. Times are milliseconds on the run's own axis, from which the time that people took is left out.

/** One row: {id, kind, name, from, to, first, usage, failed, running, item, children}. `item` is what the chat shows
 * of it. Kinds are run, round, model, tool, step, agent and human. */
export function spans(talk, words, now = Date.now(), model = "") {
  return groups(talk.runs).map((runs) => group(talk, runs, words, now, model));
}

/** A run that goes on after an answer belongs to the one that asked. */
export function groups(runs) {
  const found = [];
  for (const run of runs) {
    if (run.resumes && found.length) found.at(-1).push(run);
    else found.push([run]);
  }
  return found;
}

/** All rows, the inner ones after their parent. */
export const flat = (rows) => rows.flatMap((row) => [row, ...flat(row.children ?? [])]);

export const ZERO = { input: 0, output: 0, cost: 0 };

export function sum(rows) {
  const add = (all, { usage = ZERO }) => ({
    input: all.input + usage.input,
    output: all.output + usage.output,
    cost: all.cost + usage.cost,
  });
  return rows.reduce(add, ZERO);
}

function group(talk, runs, words, now, model) {
  const [first] = runs;
  const said = talk.byId.get(first.said);
  const row = {
    id: `run ${first.id}`,
    kind: "run",
    name: said?.text || words.unnamedRun,
    item: first.said,
    runs,
    began: first.trace?.began ?? (first.replayed ? null : first.began),
    agent: first.trace?.assistant ?? "",
    from: 0,
    children: [],
    running: runs.at(-1).live.took === undefined,
    failed: Boolean((runs.at(-1).trace ?? runs.at(-1).live).error),
  };
  const place = { row, round: null, rounds: 0, base: 0, talk, words, model, waited: 0 };
  let before = null;
  for (const run of runs) {
    const trace = run.trace ?? run.live;
    // The server's log of a run that its process did not survive has no times.
    const timed = Boolean(run.trace) || !run.replayed;
    if (before) human(place, before, run, timed);
    // A call that waited for a person is shown once: where it ran.
    place.later = runs.slice(runs.indexOf(run) + 1).flatMap((next) => (next.trace ?? next.live).spans);
    const took = trace.took ?? now - trace.began;
    fill(place, run, trace, took, timed);
    place.base += took;
    if (!timed) row.untimed = true;
    before = run;
  }
  if (before.asked?.length && before === talk.run)
    human(place, before, null, Boolean(before.trace ?? true), now);
  row.to = place.base;
  row.waited = place.waited;
  row.usage = usageOf(runs);
  settle(row);
  return row;
}

/** Tokens of a run: of its model calls, else what its last event says. */
function usageOf(runs) {
  const calls = runs.flatMap(({ trace, usage }) =>
    trace?.models.length
      ? trace.models
      : (usage ?? []).map((one) => ({ input: one.inputTokens, output: one.outputTokens, cost: one.cost })),
  );
  const known = calls.filter(({ input }) => input !== undefined);
  if (!known.length) return undefined;
  return sum(known.map((one) => ({ usage: { ...ZERO, ...one, cost: one.cost ?? 0 } })));
}

/** A person was waited for: drawn where it was, and added to nothing. */
function human(place, before, run, timed, now) {
  const { talk, words } = place;
  const ended = before.trace ? before.trace.began + before.trace.took : (before.ended ?? now);
  const next = run ? (run.trace?.began ?? run.began) : now;
  for (const { id, toolCallId } of before.asked ?? []) {
    const answer = talk.byId.get(id)?.answer;
    const took = timed && Number.isFinite(next - ended) ? Math.max(next - ended, 0) : null;
    place.waited = Math.max(place.waited, took ?? 0);
    const told = run ? outcome(answer, words) : words.waiting;
    add(place, {
      id: `human ${id}`,
      kind: "human",
      name: `${words.you}: ${told}`,
      told,
      from: place.base,
      to: place.base,
      took,
      item: toolCallId ?? id,
      question: id,
      running: !run,
      began: ended,
    });
  }
}

function outcome(answer, words) {
  if (answer?.status === "cancelled") return words.humanCancelled;
  const approved = answer?.payload?.approved;
  if (approved === undefined) return words.humanAnswered;
  return approved ? words.humanAllowed : words.humanDeclined;
}

/** Into the round that is open, or directly below the run where there are none. */
function add(place, row) {
  (place.round ?? place.row).children.push(row);
  return row;
}

function fill(place, run, trace, took, timed) {
  const shift = (ms) => (ms === undefined ? undefined : ms + place.base);
  const times = new Map();
  const shown = trace.spans.map((span, order) =>
    spanRow(place, run, { ...span, order }, took, shift, trace.began, times),
  );
  const models = trace.models.map((call, number) =>
    modelRow(place, run, call, number, took, shift, trace.began),
  );
  const calls = shown.filter(({ kind }) => kind === "tool");
  const again = ({ kind, ref, waits }) =>
    kind === "tool" && waits && place.later.some((span) => span.kind === "call" && span.id === ref);
  const rows = [...models, ...shown.filter((row) => row.kind !== "said" && !again(row))];
  for (const row of rows) if (!timed) row.untimed = true;
  // In the order of their begin; what began together stays as it came.
  rows.sort((a, b) => a.from - b.from);
  const homes = rows.filter(({ kind }) => kind === "tool" || kind === "step" || kind === "agent");
  const top = rows.filter((row) => {
    const home = parent(row, homes);
    if (home) home.children.push(row);
    return !home;
  });
  link(models, calls, shown);
  const answers = models.length || top.some(({ kind }) => kind === "step");
  if (!answers) top.push(...shown.filter(({ kind }) => kind === "said").map((row) => answered(place, row)));
  for (const row of top) {
    if (row.kind === "model" && models.includes(row)) open(place, row);
    add(place, row);
  }
}

/** Each answer of a model begins a round. */
function open(place, { from, id }) {
  place.rounds += 1;
  const name = place.words.roundName.replace("#", place.rounds);
  place.round = {
    id: `round ${id}`,
    kind: "round",
    name,
    from,
    to: from,
    children: [],
    number: place.rounds,
  };
  place.row.children.push(place.round);
}

/** What runs inside a call, a step or a sub-agent: the last one that had begun and had not ended. */
function parent(row, homes) {
  if (row.agent) return homes.find(({ kind, ref }) => kind === "agent" && ref === row.agent) ?? null;
  if (row.kind === "agent") return homes.find(({ kind, ref }) => kind === "tool" && ref === row.call) ?? null;
  const around = (home) =>
    home !== row &&
    !(home.order > row.order) &&
    home.from <= row.from &&
    row.from < home.to &&
    (home.from < row.from || home.to > row.to) &&
    !(row.kind === "tool" && home.kind !== "step");
  const home = homes.filter(around).at(-1) ?? null;
  // What a call hands over to may be told a little later than it begins.
  const inside = ({ kind, call }) => kind === "agent" && call === home.ref && home.kind === "tool";
  return home && row.kind === "model" ? (homes.findLast(inside) ?? home) : home;
}

function spanRow(place, run, span, took, shift, began, times) {
  const { id, kind, name, failed } = span;
  // The same name whether the page saw it happen or was told later.
  const key = `${run.id} ${kind} ${id ?? name}`;
  times.set(key, (times.get(key) ?? 0) + 1);
  const from = shift(kind === "call" ? (span.called ?? span.began) : span.began);
  const ends = span.ended ?? (kind === "call" && span.called === undefined ? span.began : undefined);
  const known = place.talk.byId.get(id);
  // A call that waits for a person takes no time of its own.
  const waits = kind === "call" && span.ended === undefined && run.pauses;
  return {
    id: `${key} ${times.get(key)}`,
    order: span.order,
    run: run.id,
    kind: KINDS[kind],
    name: name ?? known?.name ?? "",
    ref: kind === "reasoning" ? `why-${id}` : id,
    call: span.call,
    agent: span.agent,
    item: kind === "call" && !span.agent ? id : kind === "agent" ? span.call : undefined,
    from,
    to: waits ? from : Math.max(shift(ends ?? took), from),
    began: began + (span.called ?? span.began),
    failed,
    waits,
    running: span.ended === undefined && run.live.took === undefined,
    children: [],
  };
}

const KINDS = { call: "tool", step: "step", agent: "agent", message: "said", reasoning: "said" };

function modelRow(place, run, call, number, took, shift, began) {
  const usage = call.input === undefined ? undefined : { ...ZERO, ...call, cost: call.cost ?? 0 };
  return {
    id: `${run.id} model ${number}`,
    run: run.id,
    kind: "model",
    name: call.model || place.model || place.words.model,
    from: shift(call.began),
    first: shift(call.first),
    to: shift(call.ended ?? took),
    began: began + call.began,
    usage,
    failed: Boolean(call.error) && call.error !== "left",
    error: call.error,
    running: call.ended === undefined && run.live.took === undefined,
    children: [],
  };
}

/** Where nobody tells which model answered, the answer itself is what took time. */
function answered({ words }, row) {
  return { ...row, kind: "model", name: words.assistant, item: row.ref };
}

/** A model's row shows the message that it wrote, or the first call that it made. */
function link(models, calls, shown) {
  for (const model of models) {
    const within = ({ from, began, kind }) =>
      kind === "said"
        ? from >= model.from && from <= model.to
        : began >= model.began && from <= model.to + 50;
    model.says = shown.filter((row) => row.kind === "said" && within(row)).map(({ ref }) => ref);
    const called = calls.filter((row) => !row.agent && within(row)).map(({ ref }) => ref);
    model.calls = called;
    model.item = model.says.find((ref) => !ref.startsWith("why-")) ?? called[0] ?? model.says[0];
  }
}

/** A round reaches from its first to its last; people's time is not in it. */
function settle(row) {
  for (const child of row.children ?? []) {
    settle(child);
    if (child.kind !== "round") continue;
    child.to = Math.max(child.from, ...child.children.map(({ to }) => to));
    child.untimed = child.children.some(({ untimed }) => untimed);
    const known = child.children.filter(({ usage }) => usage);
    if (known.length) child.usage = sum(known);
  }
}

/** The row that shows an item of the chat: itself, else the answer that it belongs to. */
export function rowOf(rows, id) {
  const all = flat(rows);
  return (
    all.find(({ says }) => says?.includes(id)) ??
    all.find(({ kind, ref, item }) => kind === "tool" && (ref === id || item === id)) ??
    all.find(({ question, ref }) => question === id || ref === id) ??
    all.find(({ item }) => item === id) ??
    all.find(({ kind, runs }) => kind === "run" && runs.some((run) => run.said === id)) ??
    null
  );
}
