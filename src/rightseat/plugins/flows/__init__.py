"""Flows: workflows written in YAML that a conversation runs, pauses and resumes.

load, dialect     flows/*.yaml read and checked, and what EulerCopilot 0.9.3 writes otherwise
step_context, steps/   what a step receives and returns, and the step kinds
paths, templates, conditions    data paths, `{placeholders}` and prompts, `when` and `until`
run, checkpoint   executes the steps, and persists progress after each
responder         a flow as a tool and as a Responder, and all flows of all plugins
diagram           a flow as Mermaid text and as SVG
estimate, model_times   how often a flow asks the model, and how long its model calls took
"""
