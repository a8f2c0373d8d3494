"""Learners of other libraries, as scripts that run in an environment of their own: nothing here imports them."""
