"""An administrator's walk through the page on deploying, with the nginx and its configuration as they are shipped."""

from __future__ import annotations

import datetime
import ipaddress
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.documented import DOCS
from tests.forked import forked

from mccpo.cli import main
from mccpo.env import make

from .serve.conftest import run_of as run_of  # the same runs are served

KIT = Path(__file__).parents[1] / "deploy"
HOST = "tutor.example"
NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(NGINX is None, reason="install nginx to serve behind it")]


def commands(*begin: str) -> list[list[str]]:
    """The calls of mccpo on the page that begin with these words, without the name of the program."""
    page = (DOCS / "how-to" / "deploy.md").read_text("utf-8")
    lines = [shlex.split(line)[2:] for line in page.splitlines() if line.startswith("$ mccpo ")]
    return [words for words in lines if words[: len(begin)] == list(begin)]


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate of our own with its key, in two files; returns what trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    text = made.public_bytes(serialization.Encoding.PEM)
    (folder / "fullchain.pem").write_bytes(text)
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(key.private_bytes(*plain))
    return ssl.create_default_context(cadata=text.decode())


@contextmanager
def nginx(folder: Path, ports: list[int]) -> Iterator[int]:
    """nginx by the shipped file, in which only ports and the folder of the certificate are others; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shipped = (KIT / "nginx.conf").read_text()
    for old, new in (("8001", ports[0]), ("8002", ports[1]), ("listen 443", f"listen 127.0.0.1:{port}")):
        assert old in shipped
        shipped = shipped.replace(old, str(new))
    (folder / "mccpo.conf").write_text(shipped.replace(f"/etc/ssl/{HOST}", str(folder)))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        f"http {{ access_log off; {paths} include {folder}/mccpo.conf; }}\n"
    )
    assert NGINX is not None
    # With -e nothing is written where only an administrator may.
    call = [NGINX, "-e", str(folder / "errors"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    subprocess.run([*call, "-t"], check=True, capture_output=True, timeout=30)
    with subprocess.Popen(call) as process:
        try:
            yield port
        finally:
            process.terminate()


def address(process: Any) -> int:
    """The port on which a service says that it listens."""
    line = process.out.readline()
    assert line, process.told()
    return int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])  # type: ignore[index]


def until(call: Any, seconds: float = 30) -> httpx.Response:
    """The first answer that succeeds."""
    deadline = time.monotonic() + seconds
    while True:
        answer: httpx.Response | None = None
        with suppress(httpx.TransportError):  # nothing listens yet
            answer = call()
        if answer is not None and answer.is_success:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def test_an_administrator_serves_behind_tls_backs_up_restores_and_serves_again(
    run_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run_of(make("tutor-15", concepts=6, horizon=20)), "runs/mine")
    keys = {}
    for words in commands("keys", "create"):
        assert main(words) == 0
        keys[words[words.index("--role") + 1]] = capsys.readouterr().out.split()[0]
    (serve,) = [words for words in commands("serve") if "8000" in words]
    serve[serve.index("8000")] = "0"
    with ExitStack() as stack:
        processes = [stack.enter_context(forked(*serve, "--drain-seconds", "0")) for _ in range(2)]
        ports = [address(process) for process in processes]
        trusted = certificate(tmp_path)
        port = stack.enter_context(nginx(tmp_path, ports))
        web = httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, headers={"Host": HOST}, timeout=30)
        app = {"Authorization": f"Bearer {keys['client']}"}
        with web:
            until(lambda: web.get("/readyz"))
            told = through_the_proxy(web, app, keys)
            processes[0].process.kill()  # the other one goes on, and nobody notices
            assert {web.get("/v1/curriculum", headers=app).status_code for _ in range(6)} == {200}
            for name in ("backup", "restore", "verify"):
                (words,) = [words for words in commands(name) if "--anchor" not in words]
                assert main(words) == 0, capsys.readouterr().err
            assert "everything holds" in capsys.readouterr().out
            processes[1].process.kill()
            processes[1].process.join()
            (again,) = [words for words in commands("serve") if "restored.db" in words]
            address(stack.enter_context(forked(*again, "--port", ports[1])))
            found = until(lambda: web.get("/v1/learners", params={"name": "Ana"}, headers=app))
            assert found.json()["learners"][0]["id"] == told["learner"]
            kept = web.get(f"/v1/decisions/{told['decision']}", headers={"Authorization": f"Bearer {keys['admin']}"})
            assert kept.json()["outcome"]["correct"] is True
            assert web.post(f"/v1/learners/{told['learner']}/next", headers=app).status_code == 200


def through_the_proxy(web: httpx.Client, app: dict[str, str], keys: dict[str, str]) -> dict[str, str]:
    """A lesson through the proxy, and what it keeps inside; returns the ids of the learner and the decision."""
    assert web.get("/v1/curriculum").status_code == 401
    assert web.get("/v1/curriculum", headers=app).status_code == 200
    # The processes tell their numbers to an operator; the proxy tells them to nobody.
    assert web.get("/metrics", headers={"Authorization": f"Bearer {keys['operator']}"}).status_code == 404
    assert web.post("/v1/learners", headers=app, content=b"x" * 300_000).status_code == 413
    learner = web.post("/v1/learners", headers=app, json={"name": "Ana", "labels": {"class": "3b"}}).json()["id"]
    decision = web.post(f"/v1/learners/{learner}/next", headers=app).json()["id"]
    outcome = web.post(f"/v1/decisions/{decision}/outcome", headers=app, json={"correct": True})
    assert outcome.json()["counted"]
    door = web.get("/pages/learners")
    assert door.status_code == 303
    visit = web.post("/pages/sign-in", data={"key": keys["teacher"]}, headers={"Origin": f"https://{HOST}"})
    assert visit.status_code == 303, visit.text
    assert "secure" in visit.headers["set-cookie"].lower()  # by TLS alone, as the proxy says
    assert not visit.headers["location"].startswith("http:")
    cookie = visit.headers["set-cookie"].partition(";")[0]
    assert "Ana" in web.get("/pages/learners", headers={"Cookie": cookie}).text
    # Whoever guesses keys and names other addresses is known by the one that the proxy names, in each process.
    guesses = [{"Authorization": "Bearer wrong", "X-Forwarded-For": f"192.0.2.{number}"} for number in range(60)]
    statuses = (web.get("/v1/curriculum", headers=guess).status_code for guess in guesses)
    assert any(status == 429 for status in statuses)
    return {"learner": learner, "decision": decision}
