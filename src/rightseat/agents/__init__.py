"""Agents that live elsewhere, as Responders: LangGraph, CopilotKit's remote endpoints, AG-UI, CrewAI.

Each has a factory `kind(name, options) -> AgentSource`. They share reach.py, the way to a peer's HTTP API.
"""
