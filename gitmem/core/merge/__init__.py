"""Three versions of a file become one: pure, deterministic and symmetric functions."""
