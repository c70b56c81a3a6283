"""The playground: the page at `/`. It speaks AG-UI to our own door; this folder serves the rest as JSON.

door: routes, static files. overview: assistants, examples, set-up checks. abilities: each assistant's model and tools.
plugins: plugins, flow pictures, tool trials. door_output: a run as each door writes it. models: the model that
answers, and its change. model_form: a model as the page describes it. model_trial: real calls of a model. model_fetch:
the download of a local model. search: a text in the conversations. front_ends: how clients are connected, step by
step. page/ and vendor/: the files.
"""
