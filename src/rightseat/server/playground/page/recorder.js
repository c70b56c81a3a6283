// The trace of a run while the server has not told its own yet: the same shape, made of the events as they come.
// Times are milliseconds since the run's begin. Which model answers, and its tokens, only the server knows.

export class Recorder {
  constructor(began, resumed) {
    this.began = began;
    this.models = [];
    this.spans = [];
    this.open = new Map();
    this.model = null;
    this.calls = 0;
    if (!resumed) this.ask(began);
  }

  /** A model is asked: at the run's begin, and when all calls of its last answer have their results. */
  ask(now) {
    this.model = { model: "", began: now - this.began };
    this.models.push(this.model);
  }

  /** It was no model: a flow's step, or the end. */
  unask() {
    if (this.model && this.model.first === undefined) this.models.pop();
    this.model = null;
  }

  heard(now) {
    if (this.model) this.model.first ??= now - this.began;
  }

  spoken(now) {
    if (this.model) this.model.ended = now - this.began;
  }

  begin(kind, id, now, more = {}) {
    const span = { kind, id, began: now - this.began, ...more };
    this.spans.push(span);
    this.open.set(`${kind} ${id}`, span);
  }

  mark(kind, id, name, now) {
    const span = this.open.get(`${kind} ${id}`);
    if (span) span[name] ??= now - this.began;
  }

  end(kind, id, now, more = {}) {
    const span = this.open.get(`${kind} ${id}`);
    if (span) Object.assign(span, { ended: now - this.began, ...more });
    this.open.delete(`${kind} ${id}`);
  }

  take(event, now) {
    TAKE[event.type]?.(this, event, now);
  }
}

const TAKE = {
  TEXT_MESSAGE_START(at, { messageId: id }, now) {
    at.heard(now);
    at.begin("message", id, now);
  },
  TEXT_MESSAGE_CONTENT(at, { messageId: id }, now) {
    at.mark("message", id, "first", now);
  },
  TEXT_MESSAGE_END(at, { messageId: id }, now) {
    at.spoken(now);
    at.end("message", id, now);
  },
  REASONING_MESSAGE_START(at, { messageId: id }, now) {
    at.heard(now);
    at.begin("reasoning", id, now);
  },
  REASONING_MESSAGE_END(at, { messageId: id }, now) {
    at.spoken(now);
    at.end("reasoning", id, now);
  },
  TOOL_CALL_START(at, { toolCallId: id, toolCallName: name }, now) {
    at.heard(now);
    at.calls += 1;
    at.begin("call", id, now, { name });
  },
  TOOL_CALL_END(at, { toolCallId: id }, now) {
    at.spoken(now);
    at.mark("call", id, "called", now);
  },
  TOOL_CALL_RESULT(at, { toolCallId: id }, now) {
    // A call of an earlier run, which waited for a person.
    if (!at.open.has(`call ${id}`)) at.begin("call", id, at.began, { called: 0 });
    else at.calls -= 1;
    at.end("call", id, now);
    if (at.calls === 0) at.ask(now);
  },
  STEP_STARTED(at, { stepName: name }, now) {
    if (at.model && at.model.first === undefined) at.unask();
    at.begin("step", name, now, { name });
  },
  STEP_FINISHED(at, { stepName: name }, now) {
    at.end("step", name, now);
  },
  SUBAGENT_STARTED(at, { subagentRunId: id, name, parentToolCallId: call }, now) {
    at.begin("agent", id, now, { name, call });
  },
  SUBAGENT_FINISHED(at, { subagentRunId: id }, now) {
    at.end("agent", id, now);
  },
  SUBAGENT_ERROR(at, { subagentRunId: id }, now) {
    at.end("agent", id, now, { failed: true });
  },
  RUN_FINISHED: finish,
  RUN_ERROR: finish,
};

function finish(at, event, now) {
  at.unask();
  at.took = now - at.began;
  if (event.type === "RUN_ERROR") at.error = event.code ?? "";
}
