"""The CopilotKit door: its clients from 1.0 on, on one URL."""

from rightseat.doors.copilotkit.routes import door

__all__ = ["door"]
