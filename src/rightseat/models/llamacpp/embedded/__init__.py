"""The embedded model: a small model whose answers are checked before a person sees them.

- model: EmbeddedModel, which chooses for each prompt how it is answered.
- shortcuts: questions that rules recognise, answered by a tool call without asking the weights.
- help_answers: greetings, what the assistant can do, and how to set it up.
- small_talk: greetings, thanks, moods, compliments and insults, and their answers.
- help_topics: the words that tell each topic of help, and its answer.
- clauses: clauses of a message and the vocabularies that cover them, for rules.
- request_intent: what a request asks for, and whether a call's arguments stand in it.
- plain_chat: answers of the weights without tools: sentences, repetition, doubtful numbers.
- drafts, drafts_chinese: short messages and emails from the person's own words, by templates.
- passages: the sentence of a text that answers a question about it.
- results: answers from tool results: contradictions and numbers that stand nowhere, and the result itself.
"""
