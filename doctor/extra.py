"""How gpudoctor itself is installed: an extra into the environment it runs in, and all of it on another machine."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

FOLDER = "./gpudoctor"
"""A checkout, in a file for another machine."""


def extra_line(name: str) -> str:
    """`pip install 'gpudoctor[image]'`, from the same folder, file or repository that gpudoctor came from (PEP 610)."""
    from importlib.util import find_spec

    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    try:
        return f"{pip} {_from_where(name)}"
    except (ValueError, LookupError, AttributeError, TypeError):  # from an index, or recorded in an unknown way
        return f"pip install 'gpudoctor[{name}]'" if find_spec("pip") else f"{pip} 'gpudoctor[{name}]'"


def elsewhere() -> str:
    """What pip installs on another machine: the address that this gpudoctor came from, its name if that was an index,
    and FOLDER if it was a folder or file of this machine."""
    try:
        origin = _origin()
        address = "gpudoctor" if origin == {} else _address(origin)
    except (ValueError, LookupError, AttributeError, TypeError):
        return FOLDER
    return FOLDER if address.startswith("file:") else address


def _from_where(name: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin = _origin()
    url = urlsplit(origin["url"])
    if "dir_info" in origin:
        if url.scheme != "file":
            raise ValueError
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return editable + shlex.quote(f"{url2pathname(url.path)}[{name}]")
    return shlex.quote(f"gpudoctor[{name}] @ {_address(origin)}")


def _origin() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin: dict[str, Any] = json.loads(distribution("gpudoctor").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        raise LookupError from None
    return origin


def _address(origin: dict[str, Any]) -> str:
    url: str = origin["url"]
    if "archive_info" in origin:
        return url
    return f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
