"""One turn: the loop of model answers and tool calls.

- loop, turn_state: Assistant and Engine, the model ⇄ tool loop as a Responder; what it knows of a running turn.
- assembler, structured: model chunks → events; answers that must fit a JSON Schema.
- tool_calls, answer_parser: ToolCallBatch runs the calls of one answer; a person's answers to their questions.
- form_values: values of a form out of JSON, `name: value` pairs and lists with commas.
- late_results: results of calls that are kept when the store works again.
- resume: a turn that waits is saved as a Continuation and goes on with the next request.
- checkpoints: a turn is saved before its calls begin, and goes on at another worker if its own dies.
- repeats: answers in the chat to a question that waits, and requests whose run has had its effect.
- history: the messages as turns, with whole calls, and as the model's capabilities allow.
- context_window, summaries: drops the oldest turns that do not fit the model; summaries that stand for them.
- artifacts, result_text: tables and files of tools for doors; results of tools as text for the model.
- tool_events: events of tools with fields of the declared types.
- shared_state: the state of a page, which the model sees and changes.
- toolsets: combined toolsets and direct tool calls.
"""
