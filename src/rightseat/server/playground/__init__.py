"""The playground: the page at `/`. It speaks AG-UI to our own door; this folder serves the rest as JSON.

door: routes, static files. overview: assistants, examples, set-up checks. abilities: each assistant's model and
tools. plugins: plugins, flow pictures, tool trials. door_output: a run as each door writes it. page/ and vendor/: the
files.
"""
