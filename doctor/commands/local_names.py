"""The names of this machine and its user, for redaction."""

from __future__ import annotations

import os

from ..snapshot.redact import LocalNames


def local_names() -> LocalNames:
    """User, host and home folder of this process; empty if unknown."""
    home = os.environ.get("HOME", "")
    host = os.uname().nodename if hasattr(os, "uname") else ""
    return LocalNames(_user(), host, home if home.startswith("/") else "")


def _user() -> str:
    for variable in ("LOGNAME", "USER", "USERNAME"):
        if os.environ.get(variable):
            return os.environ[variable]
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, AttributeError):  # a uid without a name, as containers have it
        return ""
