"""The CopilotKit door: all clients from 1.0 on, on one URL.

Clients up to 1.10 send GraphQL: `graphql_endpoint` answers them; `graphql_document` parses and validates, `query_plan`
writes the frames of known documents, `execute` answers any other from the finished run by graphql-core, `subscribe`
streams a subscription as `runtime_events`; `read` makes the Turn, `response` turns events into the response's lists,
`agent_state` tracks an agent's state, `framing` writes multipart or SSE. Clients from 1.50 on send AG-UI:
`agui_endpoint`, `threads`, `speech`; `debug_events` shows them to CopilotKit's inspector. Both share `wire`,
`failures`, `graphiql_page` and `routes`. graphql-core is imported with the first GraphQL request only.
"""

from rightseat.doors.copilotkit.routes import door

__all__ = ["door"]
