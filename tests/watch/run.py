"""`gpudoctor watch` as a process, and its measurements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "gpudoctor")
LIMIT_S = 60


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without what would colour the output, or the one that is given."""
    return {
        k: v for k, v in (os.environ if env is None else env).items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }


@contextmanager
def start(*words: str, env: Mapping[str, str] | None = None, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """`gpudoctor watch WORDS` with pipes; ended where a test fails while it runs."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    with subprocess.Popen([COMMAND, "watch", *words], env=environment(env), **pipes) as child:
        try:
            yield child
        except BaseException:
            child.kill()
            raise


def run(
    *words: str, data: bytes = b"", env: Mapping[str, str] | None = None, **how: Any
) -> subprocess.CompletedProcess[bytes]:
    """`gpudoctor watch WORDS` to its end."""
    return subprocess.run(
        [COMMAND, "watch", *words],
        input=data,
        env=environment(env),
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
        **how,
    )


def measured(
    folder: Path, words: Sequence[str], command: Sequence[str], env: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], str, int]:
    """(measurements of a watched command, its stdout, its exit code)."""
    report = folder / "report.json"
    done = run(*words, "--format", "json", "-o", str(report), "--no-redact", "--", *command, env=env)
    assert done.stderr == b"", done.stderr
    return json.loads(report.read_bytes())["snapshot"]["measured"], done.stdout.decode(), done.returncode


def python(code: str) -> list[str]:
    """A Python program as a command."""
    return [sys.executable, "-c", code]
