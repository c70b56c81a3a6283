"""Wiring: builds a Runtime from a Config.

`families` finds models, doors, agents and stores by name. `default_model` chooses one where none is named.
`models`, `plugins` (with databases), `remote` (MCP servers, agents), `middleware` (guardrails, hooks) and
`storage` build the parts from their tables; `from_config` puts them together. `runtime` is the Runtime, `ask`
what its `ask` takes and returns. `demo` is for an unconfigured server.
"""
