"""Python tools of a plugin: found by reading, run in processes of their own."""
