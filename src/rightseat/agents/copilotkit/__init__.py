"""CopilotKit's remote endpoints: agents and actions that its Python SDK serves."""

from rightseat.agents.copilotkit.source import copilotkit

__all__ = ["copilotkit"]
