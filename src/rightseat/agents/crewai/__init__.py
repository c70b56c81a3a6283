"""Crews and flows of CrewAI, in an environment and a process of their own."""

from rightseat.agents.crewai.source import crewai

__all__ = ["crewai"]
