"""HTTP tools of a plugin: each operation of its API document becomes a tool that calls the API.

`tools` makes the tools and asks the user for values, files and approval. `arguments` checks a call's
arguments. `request` and `encoding` turn them into an HTTP request, `files` adds attachments. `credentials`
adds headers and tokens, `oidc` tells what a token needs. `api` sends the request under the operator's `policy`.
`response` turns the answer into text for the model and files for the user.
"""
