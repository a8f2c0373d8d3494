"""Somebody elsewhere reaches a service without keys through a proxy on its machine, and wants to be its admin."""

import pytest

from .conftest import attacked

ELSEWHERE = [
    ["Host: 127.0.0.1", "Origin: https://tutor.example", "Sec-Fetch-Site: same-origin"],
    ["Host: localhost", "Referer: https://tutor.example/"],
    ["Host: localhost", "CF-Connecting-IP: 203.0.113.9"],
    ["Host: localhost", "True-Client-IP: 203.0.113.9"],
    ["Host: localhost", "X-Client-IP: 203.0.113.9"],
    ["Host: localhost", "X-Forwarded-For: 203.0.113.9"],
    ["Host: localhost", "Via: 1.1 proxy"],
    ["Host: tutor.example"],
    ["Host: localhost", "Host: tutor.example"],
    ["Host: localhost:80@tutor.example"],
    ["Host: [::1]tutor.example"],
]


@pytest.fixture(scope="module")
def target(run, tmp_path_factory):
    with attacked(run, tmp_path_factory.mktemp("keyless") / "record.db", "--no-keys") as target:
        yield target


def test_nobody_from_elsewhere_reads_or_writes(target):
    assert target.ask("/v1/learners", "Host: localhost") == 200  # a program of this machine does
    for headers in ELSEWHERE:
        assert target.ask("/v1/learners", *headers) == 403, headers
        assert target.ask("/v1/learners", *headers, method="POST", body='{"name": "Eve"}') == 403, headers
        assert target.ask("/v1/releases/roll-back", *headers, method="POST") == 403, headers
        assert target.ask("/pages/learners", *headers) == 403, headers


def test_a_proxy_that_adds_no_header_is_known_by_its_old_protocol(target):
    assert target.ask("/v1/learners", "Host: 127.0.0.1", version="1.0") == 403
