"""Two lists of clauses into what changed between them, without Django."""
