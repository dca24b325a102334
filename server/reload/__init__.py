"""How the curves follow the files: a watcher, a load for each save, and events for the pages."""
