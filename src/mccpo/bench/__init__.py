"""How fast it is, side by side with peers: see `mccpo bench`."""
