"""A plain install, without the extras: what needs one says which, in one line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ..rows import for_each

ROOT = Path(__file__).parents[2]
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dockerfile", "dockerfile_parse", "ruamel", "requests", "docker", "mcp", "anyio"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    """The packages are hidden from the interpreter, as if pip had not installed them."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:12.8.0-runtime-ubuntu22.04\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    for words, extra in (
        (["dockerfile", "Dockerfile"], "[image]'"),
        (["dockerfile", "compose.yaml"], "[image]'"),
        (["image", "registry.invalid/x:1"], "[image]'"),
        (["mcp"], "[mcp]'"),
    ):
        command = [sys.executable, "-m", "gpudoctor", *words]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in (2, 3) and done.stdout == "", done
        assert done.stderr.count("\n") == 1 and extra in done.stderr and "internal error" not in done.stderr, (
            done.stderr
        )


@pytest.mark.slow
@for_each(
    ("direct_url", "line", "elsewhere"),
    [
        (None, "'gpudoctor[image]'", "gpudoctor"),
        (
            '{"dir_info": {}, "url": "file:///srv/a%20b/gpudoctor"}',
            "{} '/srv/a b/gpudoctor[image]'",
            "./gpudoctor",
        ),
        (
            '{"dir_info": {"editable": true}, "url": "file:///src/gpudoctor"}',
            "{} -e '/src/gpudoctor[image]'",
            "./gpudoctor",
        ),
        (
            '{"archive_info": {}, "url": "file:///tmp/gpudoctor-0.1.0-py3-none-any.whl"}',
            "{} 'gpudoctor[image] @ file:///tmp/gpudoctor-0.1.0-py3-none-any.whl'",
            "./gpudoctor",
        ),
        (
            '{"vcs_info": {"vcs": "git", "commit_id": "abc"}, "url": "https://example.org/gpudoctor.git"}',
            "{} 'gpudoctor[image] @ git+https://example.org/gpudoctor.git@abc'",
            "git+https://example.org/gpudoctor.git@abc",
        ),
        ('{"vcs_info": {}, "url": "https://example.org/gpudoctor.git"}', "'gpudoctor[image]'", "./gpudoctor"),
        ("[", "'gpudoctor[image]'", "./gpudoctor"),
        ('{"dir_info": 3, "url": "file:///x"}', "'gpudoctor[image]'", "./gpudoctor"),
        ("[]", "'gpudoctor[image]'", "./gpudoctor"),
    ],
)
def test_the_line_names_the_checkout_that_was_installed(
    tmp_path: Path, direct_url: str | None, line: str, elsewhere: str
) -> None:
    """Real metadata of a distribution; a name that is not yet in an index would install nothing, or another's package.

    With pip and, as in an environment that uv made, without.
    """
    info = tmp_path / "gpudoctor-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gpudoctor\nVersion: 9.9\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(direct_url)
    path = [str(tmp_path), str(ROOT)]
    code = f"import sys; sys.path[:0] = {path!r}; from doctor import extra; "
    code += "print(extra.extra_line('image'), extra.elsewhere(), sep='\\n')"
    python = shlex.quote(sys.executable)
    for pip in (f"uv pip install --python {python}", f"{python} -m pip install"):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
        plain = "pip install" if "-m" in pip else pip
        assert done.stdout == (line.format(pip) if "{}" in line else f"{plain} {line}") + f"\n{elsewhere}\n"
        (tmp_path / "pip").mkdir(exist_ok=True)
