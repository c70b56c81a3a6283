"""Sandbox of a plugin's Python tools on Linux: layers that a child process enters before it loads foreign code.

- plan: SandboxPlan, what the child may read and write and the layers that it enters.
- enter: enters the layers in their order; the child does this once.
- landlock: files, signals and abstract sockets, by rules of the kernel's Landlock.
- namespace: a mount namespace whose root has only the readable folders.
- identity: a user id of its own, no capabilities, no new privileges, and a server whose memory is closed.
- seccomp: refused system calls.
- kernel: system calls by ctypes.
- probe: attacks that a child tries from inside the layers, and their outcome.
- machine: SandboxReport, what holds on this machine.
"""
