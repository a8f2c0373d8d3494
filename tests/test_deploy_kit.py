"""The operator's kit: what it calls exists."""

import re
import tomllib
from pathlib import Path

import pytest

from mccpo.cli import main

ROOT = Path(__file__).parents[1]
KIT = ROOT / "deploy"


@pytest.fixture
def flags(capsys):
    """The flags of `mccpo serve`."""
    main(["serve", "--help"])
    return set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))


def test_flags_and_settings_of_the_kit_match_the_command(flags):
    unit = re.search(r"ExecStart=.*", (KIT / "mccpo@.service").read_text())[0]
    compose = re.search(r"command:(.*?)volumes:", (KIT / "compose.yaml").read_text(), re.DOTALL)[1]
    dockerfile = re.search(r"^CMD .*", (KIT / "Dockerfile").read_text(), re.MULTILINE)[0]
    for part in (unit, compose, dockerfile):
        assert "serve" in part
        assert set(re.findall(r"--[a-z][a-z-]+", part)) <= flags
    texts = "".join(path.read_text() for path in KIT.iterdir())
    settings = {name.lower().replace("_", "-") for name in re.findall(r"MCCPO_SERVE_([A-Z_]+)", texts)}
    assert settings == {"database", "keys"}
    assert {f"--{name}" for name in settings} <= flags


def test_extras_of_the_image_match_the_package():
    extras = re.search(r"'\.\[([a-z,]+)\]'", (KIT / "Dockerfile").read_text())[1].split(",")
    assert set(extras) <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_limits_of_the_proxies_match_the_service():
    assert "client_max_body_size 256k" in (KIT / "nginx.conf").read_text()
    assert "max_size 256KB" in (KIT / "Caddyfile").read_text()
