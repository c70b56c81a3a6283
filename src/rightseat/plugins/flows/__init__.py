"""Flows: steps written in YAML that a conversation can run, pause and go on with."""
