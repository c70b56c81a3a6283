"""The AG-UI door, protocol 1.0: one POST route that answers with a stream of events.

`routes` has that route. Request shapes, reading and writing are in `rightseat.http.agui`,
which the CopilotKit door uses too.
"""

from rightseat.doors.agui.routes import door

__all__ = ["door"]
