"""One use case per file; each takes the edges it needs as arguments."""
