"""Front-end protocols, one folder each: openai, agui, copilotkit, openbb, mcp, llamacpp,
eulercopilot.

Each folder has `wire` (request shapes), `read` (request → Turn), `write` (events → bytes) and `routes` (the
HTTP routes, the `Door` value and the probes that `rightseat doctor` sends). Doors never import each other.
"""
