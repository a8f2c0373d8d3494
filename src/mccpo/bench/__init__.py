"""How fast it is, side by side with peers: see `mccpo bench`.

Each module measures one thing and is imported on its own, so that what is measured is not weighed down by the others.
"""

__all__ = [
    "fresh",
    "logs",
    "mastery",
    "neural",
    "neural_results",
    "ray_cells",
    "scale",
    "tabular",
]  # modules, imported by whoever asks
