"""One environment, one method, one log source and one table, one file each."""
