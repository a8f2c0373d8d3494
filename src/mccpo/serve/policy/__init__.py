"""What is served: a trained policy in NumPy, its gate, its decisions and their certificates."""
