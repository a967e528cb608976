"""What each agent's workspace looks like on disk."""
