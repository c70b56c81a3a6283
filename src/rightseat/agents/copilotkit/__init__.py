"""CopilotKit's remote endpoints: agents and actions that its Python SDK serves.

endpoint: discovery, actions as tools; agent: one agent and its request body; line_mappers: its event lines
(two dialects) → our events.
"""

from rightseat.agents.copilotkit.endpoint import copilotkit

__all__ = ["copilotkit"]
