"""The OpenBB door: Terminal Pro as it was in 2024 and Workspace as it is today, on one URL."""

from rightseat.doors.openbb.routes import door

__all__ = ["door"]
