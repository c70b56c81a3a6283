"""Built-in tools: computations that no model should do in its head.

- calculate: the tool `calculate`; its expressions are in `expression`, their functions in `functions`.
- dates: days, holidays and time zones of expressions. units: conversion of units.
- table_text: tables in texts, as typed columns. The tool `table_query` is in `plugins/sql/table_query`.
- numerals: numbers in words, English and Chinese.
- match_calculation (with match_chinese), match_table (with table_words): arguments for both tools from a person's
  question, for models that cannot write them.
- describe: one sentence for the result of a matched call.
"""
