"""Writes `doctor/snapshot/token_formats.json`: what tokens look like, from detect-secrets and from vendors' pages.

    pip install 'gpudoctor[train]' && python training/token_formats.py [--check]

Two sources become one file: the patterns of detect-secrets' plugins (Apache-2.0, pinned in pyproject.toml, its notice
stands in `token_formats.NOTICE` beside the file), and our own list of prefixes, `vendor_prefixes.json`, each with the
vendor's page that tells it. Neither this script nor detect-secrets is imported by the product. --check exits with 1
where the file is not what the script would write.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE.parent / "doctor" / "snapshot" / "token_formats.json"
PLUGINS = "https://github.com/Yelp/detect-secrets/blob/v{}/detect_secrets/plugins/{}.py"
NOT_FOR_US = {
    "basic_auth": "what stands before @ in a URL is masked whatever it looks like",
    "ip_public": "addresses have masks of their own",
    "private_key": "a key is masked to its end, not only its first line",
    "keyword": "no pattern: a list of words before values",
    "high_entropy_strings": "no pattern: a measure of strings in quotes",
    "cloudant-2": "what stands before @ in a URL is masked whatever it looks like",
    "cloudant-3": "what stands before @ in a URL is masked whatever it looks like",
    "azure_storage_key": "a value behind a key: masked by its key, whatever it looks like",
    "npm": "a value behind a key: masked by its key, whatever it looks like",
}
COVERED = {
    "artifactory": "jfrog", "github_token": "github", "gitlab_token": "gitlab", "jwt": "jwt",
    "openai": "anthropic-and-openai", "pypi_token": "pypi", "sendgrid": "sendgrid", "slack": "slack",
    "slack-1": "slack-webhook", "square_oauth": "paypal-and-square", "stripe": "stripe",
}  # fmt: skip
"""Plugin to the row of our list that masks all its tokens, and longer or newer ones."""

_WORD = re.compile(r"[\w.-]+")
"""What the product cuts a text into before it looks for prefixes."""
_MOST = 32
"""Alternatives of a text that a match must hold."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    check = arguments.parse_args().check
    text = rendered()
    if check:
        return 0 if TARGET.read_text("utf-8") == text else 1
    TARGET.write_text(text, "utf-8")
    print(f"{TARGET.name}: {text.count(chr(10)) - 6} lines, {len(text)} bytes")
    return 0


def rendered() -> str:
    """The data file: a head, then a row a line."""
    pinned = version("detect-secrets")
    own = [vendor_row(row) for row in json.loads((HERE / "vendor_prefixes.json").read_text("utf-8"))]
    theirs, left_out = plugin_rows(pinned)
    head = {
        "detect_secrets": pinned,
        "licence": "rows from detect-secrets: Apache-2.0, see token_formats.NOTICE",
        "left_out": left_out,
    }
    rows = ",\n".join(json.dumps(row) for row in [*own, *theirs])
    return json.dumps(head, indent=1)[:-2] + f',\n "formats": [\n{rows}\n]}}\n'


def vendor_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of our list with its whole pattern."""
    if "body" in row:
        prefixes = "|".join(map(re.escape, sorted(row["prefixes"], key=len, reverse=True)))
        row = {**row, "pattern": f"(?:{prefixes}){row['body']}"}
    return {key: row[key] for key in ("id", "prefixes", "find", "pattern", "source") if key in row}


def plugin_rows(pinned: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The plugins' patterns with the texts one of which stands in every match, and why others are left out."""
    rows: list[dict[str, Any]] = []
    left_out = dict(NOT_FOR_US)
    for name, patterns in plugins():
        for number, pattern in enumerate(patterns):
            where = f"{name}-{number}" if number else name
            if name in NOT_FOR_US or where in NOT_FOR_US:
                continue
            if ours := COVERED.get(where) or COVERED.get(name):
                left_out[where] = f"our own row {ours} masks all of these"
                continue
            anchors, first = anchors_of(pattern)
            any_case = bool(pattern.flags & re.IGNORECASE)
            kind = "prefixes" if first and not any_case and all(map(_WORD.fullmatch, anchors)) else "find"
            if not anchors:
                left_out[where] = "no text of three characters stands in every match"
            elif any_case and any(anchor.isalpha() for anchor in anchors):
                left_out[where] = "a value behind a key: masked by its key, whatever it looks like"
            else:
                rows.append(
                    {
                        "id": f"detect-secrets-{where}",
                        kind: sorted(anchors),
                        "pattern": ("(?i)" if any_case else "") + pattern.pattern,
                        "source": PLUGINS.format(pinned, name),
                    }
                )
    return rows, left_out


def plugins() -> Iterator[tuple[str, list[re.Pattern[str]]]]:
    """(module, patterns) of every plugin."""
    package = import_module("detect_secrets.plugins")
    for module in sorted(found.name for found in iter_modules(package.__path__)):
        for kind in vars(import_module(f"detect_secrets.plugins.{module}")).values():
            if isinstance(kind, type) and kind.__module__.endswith(f".{module}"):
                denylist = getattr(kind, "denylist", ())
                if not isinstance(denylist, property):
                    yield module, list(denylist)


def anchors_of(pattern: re.Pattern[str]) -> tuple[set[str], bool]:
    """Texts one of which stands in every match, and whether every match begins with one; empty where there is none."""
    from re import _parser  # type: ignore[attr-defined]

    best: set[str] = set()
    first = False
    for number, found in enumerate(_required(_parser.parse(pattern.pattern, pattern.flags))):
        if min(map(len, found)) > min(map(len, best), default=2):
            best, first = found, number == 0
    return best, first


def _required(parsed: Any) -> Iterator[set[str]]:
    """Every set of texts one of which is in each match; the first is {""} unless all matches begin with one."""
    runs = {""}
    for item in parsed:
        more = _finite([item])
        if more and len(runs) * len(more) <= _MOST:
            runs = {run + text for run in runs for text in more}
            continue
        yield runs
        runs = {""}
        if str(item[0]) == "SUBPATTERN":
            yield from _required(item[1][3])
    yield runs


def _finite(parsed: Any) -> set[str]:
    """All texts that a part of a pattern matches, where they are few; else empty."""
    found = {""}
    for op, value in parsed:
        kind = str(op)
        if kind == "LITERAL":
            texts = {chr(value)}
        elif kind == "IN" and all(str(inner) == "LITERAL" for inner, _ in value):
            texts = {chr(code) for _, code in value}
        elif kind == "SUBPATTERN":
            texts = _finite(value[3])
        elif kind == "BRANCH":
            parts = [_finite(branch) for branch in value[1]]
            texts = set().union(*parts) if all(parts) else set()
        else:
            texts = set()
        if not texts or len(found) * len(texts) > _MOST:
            return set()
        found = {text + more for text in found for more in texts}
    return found


if __name__ == "__main__":
    sys.exit(main())
