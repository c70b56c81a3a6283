"""LangGraph agents: the assistants of a server, or a compiled graph in this process.

wire.py             events as LangGraph sends them
event_mapper.py     its stream → our events, no I/O, with model_outputs.py (texts, calls), interrupts.py
request.py          a turn and a thread's state → the run request, with messages both ways
agent.py            the Agent; a Graph is a server's assistant (server.py) or a compiled graph (local.py)
factory.py          [agents.NAME] → its AgentSource
"""

from rightseat.agents.langgraph.factory import langgraph

__all__ = ["langgraph"]
