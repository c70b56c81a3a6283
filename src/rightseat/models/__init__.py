"""Models: each file is one provider, and each turns a Prompt into Fragments. They do not know each other."""
