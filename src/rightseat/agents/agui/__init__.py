"""Agents that speak AG-UI over HTTP: protocol 1.0, and the older dialect that interrupts by a CUSTOM event.

request: a Turn as RunAgentInput; event_mapper, peer_output: AG-UI events → our events; interrupts: interrupts
and their answers; peer_threads: what is remembered of a peer's threads; agent: the Agent and its AgentSource.
"""

from rightseat.agents.agui.agent import agui

__all__ = ["agui"]
