"""From a log's files to the canonical table, with every row accounted for."""
