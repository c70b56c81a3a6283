"""Layers around every Responder, and wrappers around every Model."""
