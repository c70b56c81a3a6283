"""Layers wrap a Responder: what every answer goes through, whoever gives it."""
