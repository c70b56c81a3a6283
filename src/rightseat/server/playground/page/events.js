// What each AG-UI event makes of a conversation.

import { patched } from "./patch.js";
import { Recorder } from "./recorder.js";

export function take(talk, event, now, replayed) {
  TAKE[event.type]?.(talk, event, now, replayed);
  talk.run?.live?.take(event, now);
}

const TAKE = {
  RUN_STARTED(talk, event, now, replayed) {
    talk.running = true;
    talk.suggestions = [];
    for (const message of event.input?.messages ?? []) recall(talk, message);
    talk.runs.push(started(talk, event, now, replayed));
    resume(talk);
  },
  RUN_FINISHED(talk, event, now) {
    const asked = event.outcome?.interrupts ?? [];
    ended(talk, now, asked.length > 0);
    if (talk.run) {
      const pauses = asked.length > 0 || Boolean(event.outcome?.pendingToolCallIds?.length);
      Object.assign(talk.run, { usage: event.usage, asked, pauses, outcome: event.outcome?.type });
    }
    for (const one of asked) ask(talk, one);
    const word = event.outcome?.type === "cancelled" ? "stopped" : event.result?.finishReason;
    if (word) talk.add({ kind: "note", id: `note-${talk.log.length}`, word });
  },
  RUN_ERROR(talk, { code = "", message: text }, now) {
    ended(talk, now, false);
    talk.add({ kind: "failure", id: `failure-${talk.log.length}`, code, text });
  },
  TEXT_MESSAGE_START(talk, { messageId: id }, now) {
    talk.add({ kind: "message", id, role: "assistant", text: "", open: true, began: now });
  },
  TEXT_MESSAGE_CONTENT(talk, event, now) {
    const item = talk.byId.get(event.messageId);
    if (!item) return;
    talk.touch(item).text += event.delta;
    if (talk.run) talk.run.first ??= now;
  },
  TEXT_MESSAGE_END: close((event) => event.messageId),
  REASONING_MESSAGE_START(talk, event, now) {
    talk.add({ kind: "reasoning", id: `why-${event.messageId}`, text: "", open: true, began: now });
  },
  REASONING_MESSAGE_CONTENT(talk, event) {
    const item = talk.byId.get(`why-${event.messageId}`);
    if (item) talk.touch(item).text += event.delta;
  },
  REASONING_MESSAGE_END: close((event) => `why-${event.messageId}`),
  TOOL_CALL_START(talk, { toolCallId: id, toolCallName: name, parentMessageId: parent = id }, now) {
    talk.add({ kind: "call", id, name, parent, args: "", began: now, open: true });
  },
  TOOL_CALL_ARGS(talk, event) {
    const item = talk.byId.get(event.toolCallId);
    if (item) talk.touch(item).args += event.delta;
  },
  TOOL_CALL_END(talk, event, now) {
    const item = talk.byId.get(event.toolCallId);
    if (item) talk.touch(item).ended = now;
  },
  TOOL_CALL_RESULT(talk, { toolCallId, content: result }, now) {
    const item = talk.byId.get(toolCallId);
    if (item) Object.assign(talk.touch(item), { result, answered: now, open: false, waiting: false });
  },
  STATE_SNAPSHOT(talk, event) {
    changed(talk, event.snapshot);
  },
  STATE_DELTA(talk, event) {
    changed(talk, patched(talk.state, event.delta));
  },
  STEP_STARTED(talk, { stepName: name }, now) {
    talk.visits.push({ name, began: now, before: talk.state });
    talk.node = name;
  },
  STEP_FINISHED(talk, { stepName }, now) {
    const visit = talk.visits.findLast((one) => one.name === stepName && !one.ended);
    if (visit) Object.assign(visit, { ended: now, state: talk.state });
    if (talk.node === stepName) talk.node = null;
  },
  SUBAGENT_STARTED(talk, { subagentRunId: id, name, parentToolCallId: call }, now) {
    // After a question it goes on as another run, for the same call: to a person it is one.
    const known = talk.items.find((item) => item.kind === "nested" && item.call === call);
    if (known) {
      talk.byId.set(id, talk.touch(known));
      Object.assign(known, { open: true, waiting: false });
    } else talk.add({ kind: "nested", id, name, call, text: "", calls: new Map(), open: true, began: now });
  },
  SUBAGENT_FINISHED(talk, event, now) {
    const item = talk.byId.get(event.subagentRunId);
    const waiting = event.outcome?.type === "suspended";
    if (item) Object.assign(talk.touch(item), { open: false, ended: now, waiting });
  },
  SUBAGENT_ERROR(talk, event, now) {
    const item = talk.byId.get(event.subagentRunId);
    if (item) Object.assign(talk.touch(item), { open: false, ended: now, failed: event.message });
  },
  CUSTOM(talk, event) {
    CUSTOM[event.name]?.(talk, event.value);
  },
};

const CUSTOM = {
  artifact(talk, { id, kind: type, name, content, description }) {
    talk.add({ kind: "artifact", id, type, name, content, description });
  },
  citations(talk, { items }) {
    talk.add({ kind: "citations", id: `cited-${talk.log.length}`, items });
  },
  suggestions(talk, { prompts }) {
    talk.suggestions = prompts;
  },
  trace(talk, trace) {
    const run = talk.runs.findLast(({ id }) => id === trace.run) ?? talk.run;
    if (!run) return;
    run.trace = trace;
    for (const span of trace.spans) time(talk, trace.began, span);
    for (const { id, outcome } of trace.answers ?? []) {
      const question = talk.byId.get(id);
      // Nothing but the server's log says how it was answered, where another page did or this one was loaded again.
      if (question?.answer?.past) talk.touch(question).answer = { ...answers[outcome], sent: true };
    }
  },
  flow_step(talk, told) {
    const key = `${told.flow}/${told.step}`;
    const again = told.input !== undefined;
    const known = talk.steps.get(key) ?? { times: 0 };
    // A loop comes by again: what is shown is the last time, and how often it was.
    const kept = again ? { times: known.times + 1 } : known;
    talk.steps.delete(key);
    talk.steps.set(key, { ...kept, ...told });
  },
  subagent(talk, { subagentRunId, event }) {
    const item = talk.byId.get(subagentRunId);
    if (item) INSIDE[event?.type]?.(talk.touch(item), event);
  },
};

/** A call took what the server says: without a person's time, and also where it was loaded again. */
function time(talk, start, { id, began, called = began, ended, kind, agent }) {
  const item = kind === "call" && !agent ? talk.byId.get(id) : null;
  if (item && ended !== undefined) {
    Object.assign(talk.touch(item), { began: start + called, answered: start + ended });
  }
}

/** Answers as a page would have sent them. */
const answers = {
  allowed: { status: "resolved", payload: { approved: true } },
  declined: { status: "resolved", payload: { approved: false } },
  cancelled: { status: "cancelled" },
  answered: { status: "resolved" },
};

/** What a run inside does, as our own events tell it. */
const INSIDE = {
  TextDelta(item, { text }) {
    item.text += text;
  },
  CallStart(item, { id, name }) {
    item.calls.set(id, { name, args: "" });
  },
  CallArgs(item, { id, json }) {
    const call = item.calls.get(id);
    if (call) call.args += json;
  },
  CallResult(item, { id, content }) {
    const call = item.calls.get(id);
    if (call) call.result = content;
  },
};

/** What was posted with a run and did not happen here: a branch's past, or what another client said. */
function recall(talk, { id, role, content, toolCalls = [], toolCallId }) {
  if (role === "tool") {
    const call = talk.byId.get(toolCallId);
    if (call && call.result === undefined) talk.touch(call).result = content;
    return;
  }
  const said = role === "user" || (role === "assistant" && content);
  if (said && !talk.byId.has(id)) talk.say({ id, role, content });
  for (const { id: callId, function: made } of toolCalls) {
    if (talk.byId.has(callId)) continue;
    const { name, arguments: args } = made;
    talk.add({ kind: "call", id: callId, name, parent: id, args, ended: true, recalled: true });
  }
}

/** A run goes on with the one before it, unless somebody said something new in between. */
function started(talk, event, now, replayed) {
  const before = talk.run;
  const said = talk.items.findLast(({ kind, role }) => kind === "message" && role === "user")?.id;
  const resumes = Boolean(before?.pauses) && said === before.said;
  const live = new Recorder(now, resumes);
  return { id: event.runId, began: now, from: talk.log.length - 1, replayed, said, resumes, live };
}

function changed(talk, state) {
  talk.stateBefore = talk.state;
  talk.state = state;
  talk.states.push({ run: talk.run?.id, node: talk.node, before: talk.stateBefore, after: state });
}

/** A question that is asked once more is open again. One about a call is a state of the call. */
function ask(talk, one) {
  const call = talk.byId.get(one.toolCallId);
  const asked = new Set([...(call?.asked ?? []), one.id]);
  if (call?.kind === "call") Object.assign(call, { asked: [...asked], waiting: true });
  talk.add({ kind: "question", ...one, answer: undefined });
}

/** A run goes on with what waits, unless a person wrote a message instead of an answer: whether that was one, the
 * run's end tells. */
function resume(talk) {
  const said = talk.items.findLastIndex(({ kind, role }) => kind === "message" && role === "user");
  for (const question of talk.questions) {
    const answered = talk.items.indexOf(question) > said;
    talk.touch(question).answer = answered ? { past: true } : { said: true };
  }
  for (const item of talk.items) {
    const asked = (item.asked ?? []).some((id) => talk.byId.get(id)?.answer?.said);
    if (item.waiting && !asked) Object.assign(talk.touch(item), { waiting: false, open: true });
  }
}

/** A call that has no result after the run that followed its question was never allowed. */
function ignore(talk) {
  for (const item of talk.items) {
    const call = item.answer?.said ? talk.byId.get(item.toolCallId) : null;
    if (!call || call.result !== undefined) continue;
    talk.touch(item).answer = { ignored: true };
    call.waiting = false;
  }
}

function close(id) {
  return (talk, event, now) => {
    const item = talk.byId.get(id(event));
    if (item) Object.assign(talk.touch(item), { open: false, ended: now });
  };
}

/** What is still open was cut, unless the run `waits` for a person: then its calls wait with it. */
function ended(talk, now, waits) {
  talk.running = false;
  talk.node = null;
  ignore(talk);
  if (talk.run) Object.assign(talk.run, { ended: now, to: talk.log.length });
  for (const item of talk.items) {
    if (item.open) Object.assign(talk.touch(item), { open: false, waiting: waits && item.kind === "call" });
  }
}
