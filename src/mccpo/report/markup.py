"""HTML put together from parts, where text is escaped unless it says that it is markup already."""

from __future__ import annotations

from html import escape


class Html(str):
    """A piece of markup that is safe to put into the page as it stands."""

    __slots__ = ()


def el(tag: str, *children: str | None, **attributes: str | None) -> Html:
    """One element. Children that are not `Html` are escaped; `class_` is `class`, `aria_label` is `aria-label`.

    Children and attributes that are `None` are left out.
    """
    pairs = [(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not None]
    opening = "".join(f' {name}="{escape(value)}"' for name, value in pairs)
    return Html(f"<{tag}{opening}>{join(*children)}</{tag}>")


def join(*parts: str | None, between: str = "") -> Html:
    """Parts one after the other, escaped as `el` does."""
    kept = [part for part in parts if part is not None]
    return Html(between.join(part if isinstance(part, Html) else escape(part) for part in kept))
