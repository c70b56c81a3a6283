"""Local models by llama.cpp: chat, raw completion, tokenization and embeddings.

`options` makes a model from its spec; `model` implements it. `process` starts `child` in a process of its own,
`supervision` keeps it running, and `brokered` asks the supervisor of several workers for it; `client` speaks HTTP to
it; `slot_scheduler` and `prefix_cache` reuse what a slot has read, `session_file` keeps it between runs.
`template`, `template_probe` and `sandbox` render chat templates; `control_tokens` guards them against
injected control tokens; `answer_start` has continued messages and the caller's grammar; `token_counts` counts
messages; `thinking` switches a template's thinking; `tool_ranking` chooses tools for tiny models; `embedder` computes
embeddings, `rerank` ranks documents. `raw_prompt` builds prompts without a template, `infill` those with a gap,
`media` puts in images and sound, `transcribe` asks for speech as text; `engine_info` tells of the engine.
`formats/` has the tool-call formats, `grammar/` compiles JSON Schema to GBNF, `completion` maps settings and
response chunks, `chat_route` those of the engine's own chat route, `prompt_log` keeps recent prompts. `gguf` reads
model files, `weights` fetches the embedded model's. `curated` lists better models, `hub` knows their addresses,
`download` fetches them and `pulled` keeps them by name. `machine` reads cores and memory, `machine_settings`
chooses threads, context and batch by them. `embedded/` checks the embedded model's answers.
"""
