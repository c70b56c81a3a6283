"""Tool calls as text, for models without native tool calling. No I/O.

- generic: a JSON envelope for any model. builtin: tools that some models know by name.
- typescript: tool schemas as TypeScript signatures.
- reader: incremental parser of a model's text; JSON values, calls and stop sequences.
- thinking: thoughts between tags at the start of a text.
"""
