"""Questions to databases: the model writes SQL, a guard checks it, a read-only session runs it.

`database` answers questions and runs queries, `guard` allows only listed SELECT syntax, `schema` describes
the tables to the model, `query` holds queries, limits and rows, `drivers` has a module per database.
Queries of SQLite and DuckDB run in child processes: `processes` starts and kills them, `child` is what they run.
`table_query` is the built-in tool that queries a table of the conversation.
"""
