"""Values and protocols that every other folder uses. No I/O, no web framework.

- events, messages, turn: what a run emits, what a conversation consists of, one request.
- model, chunks: Model and its wrappers, its Prompt and Capabilities, and the chunks it streams.
- speech: audio, its transcript, and the models that write it down.
- settings: which sampling settings a model takes, and what a caller does about the others.
- tools, agents, agent_card: Tool, Toolset, Agent, AgentSource, the types Responder and Layer, and what an author says
  of an agent.
- output: RunOutput, the messages, calls and questions that a run's events amount to.
- stores, threads: the protocols Store, CheckpointStore and ThreadStore, and the values they keep.
- checkpoints: TurnCheckpoint, the state of a turn that another worker goes on with.
- live, fencing: the protocols LivePlane and Presence, for workers that share a store, and when one of them may begin an
  effect.
- schema, schema_cost: JSON Schema validation, and how much work a schema demands.
- partial_json: the beginning of a JSON text as a value.
- json_values, json_rows, charts: the JSON form of what Python tools return, of the rows of their tables, of a chart.
- streams, workers, text: async iterators, worker threads for large inputs, closest match and token estimates.
- language, sentences, replies: the language of a person, the sentences that are ours, and how people say yes and no.
- action_words: whether a reply names the action that a question asks about.
"""
