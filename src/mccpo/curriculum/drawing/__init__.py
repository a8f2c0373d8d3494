"""A curriculum as a picture."""
