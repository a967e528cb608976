"""gitmem: git history for an AI agent's memory."""

__version__ = "0.1.0"
