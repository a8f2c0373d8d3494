"""The log formats, one file each."""
