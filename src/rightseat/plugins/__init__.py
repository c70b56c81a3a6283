"""Folders that become tools: plugin.json, openapi.yaml, lib/ and flows/."""
