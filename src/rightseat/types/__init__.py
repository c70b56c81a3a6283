"""Values and protocols that every other folder uses. No I/O, no web framework.

- events, messages, turn: what a run emits, what a conversation consists of, one request.
- model, chunks: Model and its wrappers, its Prompt and Capabilities, and the chunks it streams.
- settings: which sampling settings a model takes, and what a caller does about the others.
- tools, agents: Tool, Toolset, Agent, AgentSource, and the types Responder and Layer.
- output: RunOutput, the messages, calls and questions that a run's events amount to.
- stores, threads: the protocols Store, CheckpointStore and ThreadStore, and the values they keep.
- schema, json_values: JSON Schema validation, and the JSON form of what Python tools return.
- streams, text: async iterators, closest match and token estimates.
- language, sentences, replies: the language of a person, the sentences that are ours, and how people say yes and no.
"""
