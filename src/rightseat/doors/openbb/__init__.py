"""The OpenBB door: Terminal Pro of 2024 (legacy) and Workspace of today, on one URL.

`wire` has the request shapes and the state that the client echoes; `zones` finds the user's time; `dates` reads words
for a day; `workspace_tools` makes client tools of widgets and MCP tools; `tool_selection` chooses those that fit,
with the user's skills; `skills` finds the active skills; `messages` parses the posted history and its function calls;
`read` makes an OpenBBRequest; `client_results` renders data as text; `turn` reads all data and completes the Turn;
`table_rules` chooses widgets and computes answers for models too small for it; `artifacts` formats artifacts and
citations; `write` encodes events; `routes` has the HTTP routes, agents.json and copilots.json.
"""

from rightseat.doors.openbb.routes import door

__all__ = ["door"]
