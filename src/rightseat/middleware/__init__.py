"""Layers around every Responder, and wrappers around every Model.

Layers: answer_once (of remote agents, at several workers), artifacts (of agents), guardrails, hooks, match_by_history
(clients that echo no ids), quota (of several workers: shared_quota), recording, tracing. Model wrappers: model_wrappers
(fallback, rate limit), metrics, quota, tracing. spans imports opentelemetry and is loaded only where it is set up.
"""
