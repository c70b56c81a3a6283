"""CrewAI crews and flows, run by a subprocess in an environment of their own.

agent: the subprocess, the Agent and its AgentSource; program: the subprocess's program, an AG-UI server that
imports only crewai and the standard library.
"""

from rightseat.agents.crewai.agent import crewai

__all__ = ["crewai"]
