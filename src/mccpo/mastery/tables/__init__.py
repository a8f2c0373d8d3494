"""Answers from the canonical table of logs. Needs polars."""
