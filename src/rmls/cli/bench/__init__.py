"""`rmls bench`: its commands, what is seen of a running study, its tables."""
