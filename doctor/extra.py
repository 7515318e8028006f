"""The command that installs an extra into the environment that this gpudoctor runs in."""

from __future__ import annotations

import json
import shlex
import sys


def extra_line(name: str) -> str:
    """`pip install 'gpudoctor[image]'`, from the same folder, file or repository that gpudoctor came from (PEP 610)."""
    from importlib.util import find_spec

    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    try:
        return f"{pip} {_from_where(name)}"
    except (ValueError, LookupError, AttributeError, TypeError):  # from an index, or recorded in an unknown way
        return f"pip install 'gpudoctor[{name}]'" if find_spec("pip") else f"{pip} 'gpudoctor[{name}]'"


def _from_where(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("gpudoctor").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        raise LookupError from None
    url = urlsplit(origin["url"])
    if "dir_info" in origin:
        if url.scheme != "file":
            raise ValueError
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return editable + shlex.quote(f"{url2pathname(url.path)}[{name}]")
    source = origin["url"]
    if "archive_info" not in origin:
        version_control = origin["vcs_info"]
        source = f"{version_control['vcs']}+{source}@{version_control['commit_id']}"
    return shlex.quote(f"gpudoctor[{name}] @ {source}")
