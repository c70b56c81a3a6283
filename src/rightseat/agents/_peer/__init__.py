"""Shared parts of remote agents: client (HTTP, options, errors), source (AgentSources, agents and their health) and
json_text (JSON in texts)."""
