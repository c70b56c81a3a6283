"""The llama.cpp door: llama-server's own routes for its web page and clients, over local models.

`wire` has the request shapes, `read` makes one Turn per prompt, `write` encodes events as llama-server's chunks and
errors, `routes` has the HTTP routes. `/tokenize`, `/detokenize` and `/apply-template` are in the OpenAI door, whose
messages and models they share.
"""

from rightseat.doors.llamacpp.routes import door

__all__ = ["door"]
