"""Wiring: builds a Runtime from a Config.

`lookup` finds models, doors, agents, stores and planes by name. `default_model` picks the default model,
`model_notes` says what a model is good for. `models`, `plugins` (with databases), `remote` (MCP servers, agents),
`middleware` (guardrails, hooks), `storage` and `planes` (between processes that share a store) build the parts from
their tables; `from_config` puts them together. `runtime` is the Runtime, `instruments` measures its models and tools.
`demo` is for an unconfigured server. `systems` says what this system cannot run.
"""
