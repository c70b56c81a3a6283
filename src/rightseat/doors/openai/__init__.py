"""The OpenAI door: chat completions, completions, embeddings, models and tokenization for OpenAI clients.

`wire` has the request shapes, `fields` says what is done with each known field, `settings` reads those that shape an
answer. `read` makes one Turn per choice, of parts that `messages` and `tools` parse; `write` encodes events as chunks
or as one completion object, `speech` does both for transcriptions, `routes` has the HTTP routes and the
doctor's probes.
"""

from rightseat.doors.openai.routes import door

__all__ = ["door"]
