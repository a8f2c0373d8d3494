"""Which release decided when: checks what the events say of it, in the order of the record; a part of `verify`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from mccpo.serve.policy.release import Release
from mccpo.serve.record.chain import Event
from mccpo.serve.record.live_releases import ROLES, pin_of


@dataclass
class ReleaseUse:
    """A release that decided: its hash and gate, the event by which it first was live, and how often it decided.

    `since` is 0 in the part of an old record that says nothing about releases; `key` is the one that made it live.
    """

    sha256: str
    theta: float
    confidence: float | None
    since: int = 0
    decisions: int = 0
    key: Mapping[str, Any] | None = None


@dataclass
class ReleaseHistory:
    """What the events so far say about releases. `live` is the last event about them, by number and content."""

    releases: Mapping[str, Release]
    used: dict[str, ReleaseUse] = field(default_factory=dict)
    live: tuple[int, Mapping[str, Any]] | None = None

    def follow(self, event: Event) -> str | None:
        """Takes in an event; says what of it does not agree with which release was live, None if all does."""
        try:
            if event.kind == "release":
                return self._change(event)
            version = event.content.get("release")
            if version is None:
                return None
            if self.live is not None and version != self.live[1]["current"]["version"]:
                return f"is by the release {version}, and {self.live[1]['current']['version']} was live"
            if event.kind in ("decision", "override"):
                self._use(version).decisions += 1
            return self._shadow_error(event)
        except (KeyError, TypeError, AttributeError) as error:
            return f"cannot be read ({error!r})"

    def unpinned(self, pins: Collection[str]) -> str | None:
        """The first release that decided, or may have, and whose hash begins with none of `pins`; in words."""
        for version, use in self.used.items():
            if not any(use.sha256.startswith(pin) for pin in pins):
                gate = f"θ = {use.theta:g}" if use.confidence is None else f"a confidence of {use.confidence:g}"
                since = f"since event {use.since}" if use.since else "in this record"
                return f"the release {version} ({gate}) decided {since}, and is none of those that were named"
        return None

    def _change(self, event: Event) -> str | None:
        content = event.content
        if event.tenant or event.learner:
            return "says which releases are live, and is about a tenant or a learner"
        for role in ROLES:
            pin = content[role]
            release = None if pin is None else self.releases.get(pin["version"])
            if pin is not None and (release is None or pin_of(release) != pin):
                return f"names a release that is not on record as it says: {pin['version']}"
        self.live = event.number, content
        use = self._use(content["current"]["version"])
        if not use.since and not use.decisions:
            use.since, use.key = event.number, content["key"]
        return None

    def _use(self, version: str) -> ReleaseUse:
        if version not in self.used:
            release = self.releases[version]
            self.used[version] = ReleaseUse(release.digest, release.theta, release.opening.confidence)
        return self.used[version]

    def _shadow_error(self, event: Event) -> str | None:
        shadow = event.content.get("shadow")
        if shadow is None or self.live is None:
            return None
        live = self.live[1]["shadow"]
        if live is None or live["version"] != shadow["release"]:
            return f"was seen by the release {shadow['release']}, which did not look on"
        return None
