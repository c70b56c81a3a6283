"""Model providers. Each one turns a Prompt into a stream of ModelChunks; none imports another.

openai, anthropic, google, langchain: remote models, one folder per provider; they share `_vendor`.
llamacpp: local GGUF models. scripted: replays a JSON script, for tests and demos.
whisper: speech as text, by whisper.cpp on this machine.
empty: no model, for servers that only run agents. catalog: capabilities of known models.
"""
