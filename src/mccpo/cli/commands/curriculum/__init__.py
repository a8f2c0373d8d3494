"""`mccpo curriculum`."""
