"""The pages, for teachers and auditors: who learns what, what was decided and why, and how groups are treated."""

from mccpo.serve.pages.app import add_pages

__all__ = ["add_pages"]
