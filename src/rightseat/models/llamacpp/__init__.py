"""Local models by llama.cpp."""
