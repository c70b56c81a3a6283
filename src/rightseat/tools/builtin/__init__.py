"""Built-in tools: computations that no model should do in its head.

- calculate: the tool `calculate`; its expressions are in `expression`, their functions in `functions`.
- code_interpreter: Python that a model writes, in a confined child; only where it is asked for.
- facts: the tool `facts`; its tables are in `facts.toml`.
- dates: days, holidays and time zones of expressions. units: conversion of units.
- table_text: tables in texts, as typed columns. The tool `table_query` is in `plugins/sql/table_query`.
- numerals: numbers in words, English and Chinese.
- match_calculation, match_dates, match_chinese: arguments for `calculate` from a person's question, for models that
  cannot write them. match_table, table_words: the same for `table_query`.
- match_elements: the time in a place and days near today, by their elements in any order.
- match_framed: a calculation inside a longer message. match_problems: word problems, as match_quantities and
  match_asked read them. match_clauses: the clauses of a message.
- match_table_value: the column and the rows that a question about a table names. match_table_groups: groups of rows.
  match_table_product: price times quantity. match_table_simple: tables with one column of numbers, and the row of one
  name. match_table_sql: the SQL of all of them.
- describe: one sentence for the result of a matched call.
"""
