"""AG-UI 1.0 for every door that speaks it.

read: RunAgentInput (wire structs) to a Turn. write: events to AG-UI events and SSE frames.
visible_branch: the entries of a stored thread that no truncation hides. replay: a stored thread and its active
run as numbered frames. attached: a run of no stored thread, once for each run id.
"""
