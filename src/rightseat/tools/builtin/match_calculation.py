"""Recognizer of calculations."""

from __future__ import annotations


def match_calculation(question: str) -> dict[str, str] | None:
    return None
