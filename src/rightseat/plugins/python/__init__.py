"""Python tools of a plugin's lib/.

`find` locates them by parsing, without running code; `describe` reads names, descriptions and argument
schemas from the syntax tree; `run` makes tools that call them in confined processes.
"""
