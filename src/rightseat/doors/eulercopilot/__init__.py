"""The EulerCopilot door: euler-copilot-web 0.9.1, and the routes of its desktop and shell clients.

`wire` has the request shapes; `conversations` keeps a conversation that has no question yet, lists conversations and
their records; `read` makes the Turn of a question; `write` encodes events; `routes` has the HTTP routes.
"""

from rightseat.doors.eulercopilot.routes import door

__all__ = ["door"]
