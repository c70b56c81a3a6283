"""The OpenAI door: any OpenAI client, streamed and whole."""

from rightseat.doors.openai.routes import door

__all__ = ["door"]
