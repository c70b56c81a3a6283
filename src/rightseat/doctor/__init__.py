"""`rightseat doctor`: what works, what is missing, and how to put it right. One file per kind of check."""
