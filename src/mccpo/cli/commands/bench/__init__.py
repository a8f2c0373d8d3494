"""`mccpo bench`."""
