"""Prints the fields of the official client's requests, as JSON: those of chats, completions and embeddings."""

import importlib
import json
import typing
from typing import Any

chat: Any = importlib.import_module("openai.types.chat.completion_create_params")
completion: Any = importlib.import_module("openai.types.completion_create_params")
embedding: Any = importlib.import_module("openai.types.embedding_create_params")

shapes = {
    "chat": chat.CompletionCreateParamsStreaming,
    "completion": completion.CompletionCreateParamsStreaming,
    "embedding": embedding.EmbeddingCreateParams,
}
print(json.dumps({name: sorted(typing.get_type_hints(shape)) for name, shape in shapes.items()}))
