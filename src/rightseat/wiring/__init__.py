"""Wiring: builds a Runtime from a Config.

`lookup` finds models, doors, agents and stores by name. `default_model` picks the default model, `model_notes` says
what a model is good for. `models`, `plugins` (with databases), `remote` (MCP servers, agents), `middleware`
(guardrails, hooks) and `storage` build the parts from their tables; `from_config` puts them together. `runtime` is
the Runtime. `demo` is for an unconfigured server.
"""
