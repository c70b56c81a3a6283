"""LangGraph agents: the assistants of a server, or a compiled graph in this process.

wire.py, frames.py   what LangGraph says
mapping.py           its stream → our events, with speech.py (texts, calls), states.py (steps, state) and
                     questions.py (interrupts); no I/O
request.py           a turn and a thread's standing → what the graph is asked, with messages.py
agent.py             the Agent; a Graph is a server's assistant (server.py, source.py) or local.py's
"""

from rightseat.agents.langgraph.options import langgraph

__all__ = ["langgraph"]
