"""A function of the server's own. The widgets need none: each one on the dashboard is a tool already."""

from rightseat import tool


@tool
def growth(before: float, after: float) -> str:
    """Say by how many percent a value has changed."""
    if before == 0:
        return "From nothing there is no percentage."
    return f"{(after - before) / before:+.2%}"
