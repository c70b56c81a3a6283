"""Several processes on one port: `rightseat serve --workers N`. Nothing here is imported with one worker.

count: how many workers. supervisor: starts, watches, replaces, reloads and ends them; handle: one worker as the
supervisor sees it. link: the supervisor as a worker sees it, and the worker's beat. channel: the messages between them.
metric_sums: /metrics over all workers. engines: local models that all workers share.
"""
