"""LangGraph agents: the assistants of a server, or a compiled graph in this process.

wire.py             events as LangGraph sends them
event_mapper.py     its stream → our events, no I/O, with model_outputs.py (texts, calls), interrupts.py
request.py          a turn and a thread's state → the run request, with messages both ways
agent.py            the Agent; a Graph is a server's assistant (server.py) or a compiled graph (local.py)
options.py          the factory
"""

from rightseat.agents.langgraph.options import langgraph

__all__ = ["langgraph"]
