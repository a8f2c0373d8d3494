"""The paper's tables, one file each, and its own numbers."""
