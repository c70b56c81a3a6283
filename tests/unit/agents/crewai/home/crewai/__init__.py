"""Stands for CrewAI where its process is tested: the real one takes seconds to import. It is a peer."""
