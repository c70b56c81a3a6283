"""Remote agents as Responders: LangGraph, CopilotKit's remote endpoints, AG-UI, CrewAI.

Each folder (langgraph, copilotkit, agui, crewai) has a factory `kind(name, options) -> AgentSource`.
They share `_peer` (HTTP client, errors,
sources and agents, JSON) and `hook.py` (`on_before_request`).
"""
