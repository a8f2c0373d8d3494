"""`mccpo benchmark`."""
