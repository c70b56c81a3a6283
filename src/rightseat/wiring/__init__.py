"""Wiring: builds a Runtime from a Config."""
