"""One turn: the model is asked, its tools are called, and again."""
