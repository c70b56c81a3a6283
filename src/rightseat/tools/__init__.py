"""How a Python function, a process or another agent becomes a Tool."""
