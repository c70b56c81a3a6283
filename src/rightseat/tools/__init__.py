"""Ways to make a Tool.

- function: `@tool` and the JSON Schema of a Python function; worker threads for plain functions.
- subprocess, child: functions that run in processes of their own.
- sandbox: what confines the processes of a plugin's code.
- delegate: an assistant, an agent or a flow as a tool.
- builtin: the tools `calculate` and `facts`, and recognizers of questions for it and for `table_query`.
- word_search: ranks tools and other texts by the words of a question.
- tables: rules that answer questions over the rows of a client's table.
- text_calls: tool calls in the text of models without native tool calling.
"""
