"""No planted secret is in any output format, and nothing that is not a secret is masked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.judge.report import Report
from doctor.report.healthline import healthline
from doctor.report.json import render_json
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot.redact import redact

from ..cli.command import gpudoctor
from ..healthy import healthy
from ..judging import report
from ..rows import for_each
from .planted import CREDENTIALS, NAMES, SECRETS, planted


def every_format(found: Report) -> str:
    """All that could be written of a report."""
    layers = {check.id: "python" for check in found.checks}
    return "\n".join(
        (
            render_json(found).decode(),
            render_markdown(found, layers),  # type: ignore[arg-type]
            render_terminal(found, layers, Display(verbose=2, width=100)),  # type: ignore[arg-type]
            healthline(found),
        )
    )


@pytest.fixture(scope="module")
def original() -> Report:
    return report(planted())


@pytest.fixture(scope="module")
def written(original: Report) -> str:
    return every_format(redact(original, NAMES))


def leaks(secret: str, text: str) -> bool:
    """Whether the secret can be read in a text, also as JSON, and where it was wrapped."""
    return any(form in text for form in (secret, json.dumps(secret)[1:-1])) or secret in "".join(text.split())


@for_each("kind", sorted(SECRETS))
def test_no_secret_is_written(kind: str, original: Report, written: str) -> None:
    assert leaks(SECRETS[kind], every_format(original)), "the secret must be in the original, or nothing is tested"
    assert not leaks(SECRETS[kind], written)


def test_no_secret_leaves_the_command(tmp_path: Path, original: Report) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(render_json(original))
    env = {"LOGNAME": NAMES.user, "USER": NAMES.user, "HOME": NAMES.home}
    for arguments in (["--format", "json"], ["--format", "markdown"], ["-vv"]):
        text = gpudoctor("check", "--from", path, *arguments, env=env).stdout.decode()
        assert len(text) > 300
        assert [kind for kind, secret in SECRETS.items() if leaks(secret, text)] == []


def test_no_redact_writes_names_and_no_credential(tmp_path: Path, original: Report) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(render_json(original))
    text = gpudoctor("check", "--from", path, "--format", "json", "--no-redact").stdout.decode()
    assert [
        kind for kind in ("user", "host", "ipv4", "gpu uuid", "mac", "serial") if not leaks(SECRETS[kind], text)
    ] == []
    assert [kind for kind, secret in CREDENTIALS.items() if leaks(secret, text)] == []
    assert '"redacted": false' in text


def test_a_machine_without_secrets_is_left_as_it_is_but_for_its_uuids() -> None:
    before = healthy("h100", "l4")
    after = redact(before, NAMES)
    assert after.python == before.python
    assert after.torch == before.torch
    assert after.container == before.container
    assert after.host == before.host
    assert after.driver.with_(cuda_devices=()) == before.driver.with_(cuda_devices=())


def test_versions_that_look_like_addresses_stay() -> None:
    after = redact(planted(), NAMES)
    assert "nvidia-curand-cu12==10.3.9.90" in str(after.python.distributions)
