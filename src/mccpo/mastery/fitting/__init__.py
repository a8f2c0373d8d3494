"""Models of mastery fitted to answers, and how well they predict others. Needs jax."""
