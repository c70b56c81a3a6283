"""Configuration: rightseat.toml as values.

- settings, guardrails: the tables of the file as Structs.
- read, problems: reading and checking the file; all problems are reported at once.
- secret: values that are masked in output. loading: import of `module:attribute` objects.
"""
