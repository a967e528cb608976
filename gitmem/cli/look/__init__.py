"""Looking back on the screen: what log, show, diff and cat do once their arguments are read."""
