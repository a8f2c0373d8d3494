"""How commands speak to a terminal: results, progress, Ctrl-C."""
