"""How long a test waits for what must happen: the one ceiling on time, and it judges nothing but hanging."""

HANG_TIMEOUT = 60.0
"""Seconds after which a program counts as stuck: no healthy one takes as long, on any machine."""
