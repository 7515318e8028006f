"""The line that installs one of gpudoctor's own extras, where this gpudoctor is and from where it came."""

from __future__ import annotations

import json
import shlex
import sys
from urllib.parse import unquote, urlsplit


def extra_line(name: str) -> str:
    """`pip install 'gpudoctor[image]'`; of a checkout its folder (direct_url.json, PEP 610), by its Python's pip."""
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec

    try:
        text = distribution("gpudoctor").read_text("direct_url.json")
        source = json.loads(text or "{}")
        url = urlsplit(str(source.get("url", "")))
    except (PackageNotFoundError, ValueError, AttributeError):
        return f"pip install 'gpudoctor[{name}]'"
    if url.scheme != "file" or "dir_info" not in source or not find_spec("pip"):
        return f"pip install 'gpudoctor[{name}]'"
    editable = "-e " if source["dir_info"].get("editable") else ""
    folder = shlex.quote(f"{unquote(url.path)}[{name}]")
    return f"{shlex.quote(sys.executable)} -m pip install {editable}{folder}"
