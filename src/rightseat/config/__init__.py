"""Configuration: rightseat.toml as values.

- settings, guardrails: the tables of the file as Structs.
- load, problems: reading and checking the file; all problems are reported at once.
- options: a mapping of options as a Struct. imports: objects named as `module:attribute`.
- secret: values that are masked in output. stamps: whether files have changed since they were read.
- installation: how this rightseat was installed, for commands that work as printed.
- remedies: what to correct where a server that the file names refuses.
- edit: a table of the file written anew, the rest of its text kept.
- digest: a configuration in a few letters, for replicas to compare.
"""
