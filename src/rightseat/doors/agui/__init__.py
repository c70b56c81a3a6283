"""The AG-UI door, protocol 1.0: one POST, a stream of events."""

from rightseat.doors.agui.routes import door

__all__ = ["door"]
