"""How a model that only writes text is told of tools, and how its calls are read out of that text. Pure."""
