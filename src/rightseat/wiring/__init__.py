"""Wiring: builds a Runtime from a Config.

`registry` finds models, doors, agents and stores by name. `choice` picks the default model. `models`,
`plugins`, `databases`, `remote` (MCP servers, agents), `middleware` (guardrails, hooks) and `storage` build
the parts from their tables; `from_config` puts them together. `runtime` is the Runtime, `answer` what
its `ask` takes and returns. `demo` and `demo_config` are for an unconfigured server.
"""
