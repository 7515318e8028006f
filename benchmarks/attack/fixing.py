"""Logins in the addresses of indexes and wheels, and tokens in variables: `fix` shows none, in no format."""

from __future__ import annotations

import json
from functools import partial

from .engine import Attack
from .ground import Ground, tree

_VARIABLES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL",
    "HF_TOKEN", "CONDA_CHANNEL_ALIAS", "HTTPS_PROXY", "PIP_FIND_LINKS", "LD_PRELOAD", "PYTHONPATH",
)  # fmt: skip
_FORMATS = (["--format", "json"], ["--format", "text"], ["--format", "json", "--no-redact"], ["--no-redact"])


def attacks(ground: Ground) -> list[Attack]:
    """Each variable, the origin of a wheel and what one requires, with each way to show the plan."""
    found = []
    for number, place in enumerate((*_VARIABLES, "wheel", "requires", "problem")):
        for options in _FORMATS:
            draw = ground.random(f"fixing {number} {options}")
            user, password = f"u{draw.randrange(10**8)}", f"{draw.getrandbits(80):x}Zq7"
            found.append(
                Attack(
                    f"fix {' '.join(options)} with a login in {place}",
                    ["fix", "--from", "report.json", *options],
                    partial(_report, ground, place, f"https://{user}:{password}@pypi.example/simple"),
                    never=(password,),
                )
            )
    return found


def _report(ground: Ground, place: str, address: str, attack: Attack) -> None:
    report = tree(ground.sick)
    snapshot = report["snapshot"]
    if place in _VARIABLES:
        rows = snapshot["host"]["environment"]
        kept = [row for row in rows if row["name"] != place] if isinstance(rows, list) else []
        snapshot["host"]["environment"] = [*kept, {"name": place, "value": address}]
    else:
        for one in snapshot["python"]["distributions"]:
            one[place] = [f"x @ {address}"] if place == "requires" else f"{address}/x-1-py3-none-any.whl"
    (attack.folder / "report.json").write_text(json.dumps(report), "utf-8")
