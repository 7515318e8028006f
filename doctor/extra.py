"""The line that installs one of gpudoctor's own extras, where this gpudoctor is and from where it came."""

from __future__ import annotations

import json
import shlex
import sys


def extra_line(name: str) -> str:
    """`pip install 'gpudoctor[image]'`; of a checkout its folder (direct_url.json, PEP 610), by its Python's pip."""
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        source = json.loads(distribution("gpudoctor").read_text("direct_url.json") or "{}")
        url, editable = urlsplit(source["url"]), source["dir_info"].get("editable")
    except (PackageNotFoundError, ValueError, LookupError, AttributeError, TypeError):
        url, editable = None, False
    if url is None or url.scheme != "file" or not find_spec("pip"):
        return f"pip install 'gpudoctor[{name}]'"
    folder = shlex.quote(f"{url2pathname(url.path)}[{name}]")
    return f"{shlex.quote(sys.executable)} -m pip install {'-e ' if editable else ''}{folder}"
