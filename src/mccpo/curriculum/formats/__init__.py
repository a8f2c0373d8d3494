"""The files that prerequisite graphs are kept in: JSON, CSV and GraphML, each between a path and a `RawGraph`."""
