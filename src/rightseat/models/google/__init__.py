"""Gemini, by Google's own client.

client.py asks (request.py: Prompt → contents and config, schemas.py: what Gemini takes of a JSON Schema) and
retries; exchange.py reads one answer and keeps its time, lines.py looks at it first; answer.py makes
Fragments of its chunks; marks.py has what must travel back to Google; faults.py has every error; options.py
reads the spec `google:NAME`; sdk.py is the client.
"""

from rightseat.models.google.options import model

__all__ = ["model"]
