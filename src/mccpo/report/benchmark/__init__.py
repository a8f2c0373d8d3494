"""The page of a benchmark."""
