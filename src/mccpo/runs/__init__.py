"""The run folder: results, policies, manifest, checkpoints, and what one run leaves for the next."""
