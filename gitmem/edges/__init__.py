"""One outside thing each: git, files, locks, the watcher, the network, settings."""
