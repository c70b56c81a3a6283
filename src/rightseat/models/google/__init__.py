"""Gemini models through Google's REST API.

client.py sends requests. request.py builds the body from a Prompt and narrows JSON Schemas to what Gemini accepts.
stream_parser.py turns payloads into ModelChunks and keeps thought signatures for the next request. errors.py maps
errors. options.py parses `google:NAME`.
"""

from rightseat.models.google.options import model

__all__ = ["model"]
