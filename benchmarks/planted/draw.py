"""Secrets drawn at random by the grammar of their kind, in the surroundings in which people paste them.

The kinds (`kinds.json`) and surroundings (`places.json`) were written from vendors' documentation and from what stands
in public threads, without a look at the code that masks.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_CLASSES = {
    "d": string.digits, "h": "0123456789abcdef", "H": "0123456789ABCDEF", "b": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "-_", "B": string.ascii_letters + string.digits + "+/",
    "A": string.ascii_uppercase + "234567", "a": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
}  # fmt: skip
_SLOT = re.compile(r"\{(?:(d8)|([a-zA-Z]):(\d+))\}")


class Planted(NamedTuple):
    """One text with secrets in it. `secrets`: what must not be in any output."""

    kind: str
    place: str
    secrets: tuple[str, ...]
    text: str


def _word(draw: random.Random, length: int) -> str:
    letters = ("bdfgklmnprstvz", "aeiou")
    return "".join(draw.choice(letters[n % 2]) for n in range(length))


def _fill(template: str, draw: random.Random) -> tuple[str, list[str]]:
    """The template with its slots filled, and what each slot got."""
    got: list[str] = []

    def one(slot: re.Match[str]) -> str:
        if slot[1]:
            got.append(str(draw.randint(1, 254)))
        elif slot[2] == "w":
            got.append(_word(draw, int(slot[3])))
        else:
            value = "".join(draw.choice(_CLASSES[slot[2]]) for _ in range(int(slot[3])))
            got.append(value if value[-1] not in "-_+/" else value[:-1] + "x")
        return got[-1]

    return _SLOT.sub(one, template), got


def filled(templates: list[str], draw: random.Random) -> tuple[list[str], list[str]]:
    """Lines with their slots filled, and the secrets in them."""
    secrets, lines = [], []
    for template in templates:
        line = _fill(template, draw)[0]
        secrets += re.findall(r"<<([^<>]*)>>", line)
        lines.append(re.sub(r"<<([^<>]*)>>", r"\1", line))
    return lines, secrets


def planted(seed: int, count: int) -> Iterator[Planted]:
    """At least `count` texts: each kind once, each surrounding as often as its turn comes."""
    draw = random.Random(seed)
    kinds = json.loads((_HERE / "kinds.json").read_text())["kinds"]
    table = json.loads((_HERE / "places.json").read_text())
    turns = {form: [p for p in table["places"] if form in p["for"]] for form in ("token", "named")}
    for places in turns.values():
        draw.shuffle(places)
    order = [*kinds, *(draw.choice(kinds) for _ in range(max(0, count - len(kinds))))]
    used = {"token": 0, "named": 0}
    for row in order:
        if row["form"] == "line":
            place, (lines, secrets) = "a line of its own", filled(row["lines"], draw)
        else:
            form = row["form"]
            chosen = turns[form][used[form] % len(turns[form])]
            used[form] += 1
            value, slots = _fill(row["value"], draw)
            part = re.search(r"\d+", row.get("secret", ""))
            secrets = [slots[int(part[0]) - 1]] if part else [value]
            place = chosen["place"]
            lines = [line.replace("KEY", row["key"]).replace("VALUE", value) for line in chosen["lines"]]
        before, after = draw.choice(table["around"])
        text = "\n".join(line for line in (before, *lines, after) if line) + "\n"
        yield Planted(row["kind"], place, tuple(secrets), text)


def leaks(secrets: tuple[str, ...], output: str) -> list[str]:
    """The secrets, or pieces of ten characters of the long ones, that stand in an output."""
    found = []
    for secret in secrets:
        pieces = [secret]
        if len(secret) >= 20 and not re.search(r"[^\w+/=-]", secret):
            pieces += [secret[n : n + 10] for n in range(len(secret) // 2, len(secret) - 9)]
        found += [secret] if any(piece in output for piece in pieces) else []
    return found
