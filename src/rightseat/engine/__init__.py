"""One turn: the loop of model answers and tool calls.

- loop: Assistant and Engine, the model ⇄ tool loop as a Responder.
- assembler, structured: model chunks → events; answers that must fit a JSON Schema.
- tool_calls, answers: ToolCallBatch runs the calls of one answer; a person's answers to their questions.
- resume: a turn that waits for a client or a person is saved, and goes on with the answer.
- history: the messages that fit the model's context window and capabilities.
- artifacts, toolsets: tables and files for doors; combined toolsets and direct tool calls.
"""
