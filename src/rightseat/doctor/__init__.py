"""Checks behind `rightseat doctor`. Each yields CheckResults that say what is broken and how to fix it.

setup.py checks Python, config, models, tools and the store without a server. running_server.py probes a
running server: endpoints, doors, keys, CORS. openbb/ examines any server as OpenBB's client would.
live.py checks the server between several processes, cluster.py the database that replicas share and the replicas.
model_calls.py asks each model for a token. client.py is the HTTP client of the checks.
result.py defines CheckResult and Fault.
"""
