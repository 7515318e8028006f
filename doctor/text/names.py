"""Names of GPUs as people type them: `RTX4090`, `1080ti`, `4080 RTX`, `2*3090 24G` -> the board's name."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..formats.lazy import lazy

_MANY = lazy(
    r"(?:(\d{1,4})\s?[x×*]\s?|(\d{1,2})\s(?=(?:nvidia |geforce )*(?:[rg]tx|tesla|quadro|titan|[abhlv]\d{2,3}s?)\b)"
    r"|(dual|two|three|four|eight)\s)(?=nvidia|geforce|[rg]tx|tesla|quadro|titan|jetson"
    r"|[abhlptvk]\d|g[bh]\d|mx ?\d|gt ?\d|\d{4})",
    re.I,
)
_MANY_AFTER = lazy(r"(?:\s|\s?\()[x×*]\s?(\d{1,3})\)?$", re.I)
_ONE = lazy(r"^(?:a single|single|one|an?|my|the) (?=\w)", re.I)
_WORDS = {"dual": 2, "two": 2, "three": 3, "four": 4, "eight": 8}
_MEMORY = lazy(
    r"[\s(/-]{1,3}(?:with )?(\d{1,3})\s?(?:gib|gb|g)\b(?: of)?(?:\s?(?:vram|memory|ram|gddr\dx?))?\)?$", re.I
)
_FAMILY = lazy(r"\b(rtx|gtx)[ _-]?(?=[a-z]?\d{3,4})", re.I)
_BEHIND = lazy(r"\b(\d{3,4})((?: ?ti| ?super){0,2}) (rtx|gtx)\b", re.I)
_SUFFIX = lazy(r"(?<=\d)[ _-]?(ti|super|max-?q|laptop|mobile)\b", re.I)
_BARE = lazy(r"(?:geforce )?(\d{4})(?= ti\b| super\b|$| laptop\b| mobile\b)", re.I)
_WRONG_FAMILY = lazy(r"\b(?:(GTX) (?=[2-5]0[5-9]0(?!\d))|(RTX) (?=(?:10[1-8]0|16[356]0|9[5-8]0|7[5-8]0)(?!\d)))", re.I)
"""`GTX 3090` and `RTX 1080`: there is one board of that number, in the other family."""
_OTHER_NAMES = (
    (lazy(r"\b(?:quadro |(?:nvidia )?rtx |tesla )(?=[ahb]\d{2,3}\b(?!0))", re.I), ""),  # RTX A100, RTX H100
    (lazy(r"^(?:nvidia |quadro )?(?=a[2456][05]00\b)", re.I), "RTX "),  # A6000
    (lazy(r"\bRTX (RTX )", re.I), r"\1"),
    (lazy(r"\bRTX A6000 Ada(?: Generation)?$", re.I), "RTX 6000 Ada Generation"),
    (lazy(r"^(?:nvidia |geforce )*rtx titan\b", re.I), "TITAN RTX"),
    (lazy(r"^(?:geforce )?(?:gtx )?(16[56]0) ?s(?:uper)?$", re.I), r"GTX \1 SUPER"),
    (lazy(r"^(?:nvidia )?pro (?=[2-6]\d00 blackwell)", re.I), "RTX PRO "),
    (lazy(r"\b(5090|4090) ?d$", re.I), r"\1 D"),
    (lazy(r"(?<=\d)[ _-]?ti[ _-]?super\b", re.I), " Ti SUPER"),
    (lazy(r"(?:(?<=\d{4})|(?<=[AHB]\d00)|(?<=T4))s$", re.I), ""),  # 3090s
)
"""What people write for a board -> how it is called."""
_FAMILY_OF = {"GTX": "RTX ", "RTX": "GTX "}
_LAPTOP = " Laptop GPU"
_SPELT = {"ti": " Ti", "super": " SUPER", "maxq": " with Max-Q Design", "laptop": _LAPTOP, "mobile": _LAPTOP}

GPU = lazy(
    r"(?:(?<![\w.])(?P<count>\d{1,4})\s?[x×]\s?(?:\d{1,3} ?GB? )?)?(?<![\w-])(?<!\w[@㉿])(?P<name>(?:NVIDIA )?(?:"
    r"(?:GeForce )?(?i:RTX|GTX)[ -]?(?:PRO )?A?\d{3,4}M?(?i:(?: ?(?:Ti"
    r"|SUPER|Ada(?: Generation)?|D|Laptop GPU|Blackwell|Max-Q))*)"
    r"|GeForce (?:GT|MX) ?\d{2,4}M?|Quadro (?:RTX )?[A-Z]{0,2}\d{3,4}|Tesla [A-Z]\d{1,3}\w{0,2}(?:-[\w-]{1,24})?"
    r"|(?:GT|MX) ?\d{3,4}M?|\d{4} (?:RTX|GTX)"
    r"|(?:H100|H200|H800|H20|A100|A800|B200|B300|V100S?|P100|GH200|GB200|GB300|GB10|L40S|L40"
    r"|L20|L4|T4|A10G|A10|A30|A40|A16|A2|K80|P40|P4|M40|M60)"
    r"(?:[ -](?:80GB?|40GB?|PCIE|PCIe|SXM\d?|NVL|HGX|HBM3e?)){0,3}"
    r"|RTX A\d{4}|TITAN (?:RTX|V|Xp|X)|DGX Spark|Jetson (?:AGX )?[A-Z]\w{1,8}(?: (?:Nano|NX|Super|Thor)){0,2})"
    r")(?![\w-]|:[~/]|[$%#>](?:\s|$))"
)
"""A board of NVIDIA in a sentence, with how many there are; not the host in a prompt: `user@A100:~$`."""


class Typed(NamedTuple):
    """What is typed of boards of one kind."""

    name: str
    boards: int
    memory_gib: int
    """0: not told."""


def typed(text: str) -> Typed:
    """The name as the board carries it, how many, and their memory; a name that is no GeForce's stays as it is."""
    name, count, memory = _ONE.sub("", text.strip()), 1, 0
    if many := _MANY.match(name):
        count = int(many[1] or many[2] or _WORDS[many[3].lower()])
        name = name[many.end() :]
    elif many := _MANY_AFTER.search(name):
        count = int(many[1])
        name = name[: many.start()]
    if size := _MEMORY.search(name):
        memory = int(size[1])
        if not re.search(r"SXM|PCI|\bMIG\b", name, re.I):  # of the name itself: A100-SXM4-80GB
            name = name[: size.start()] + name[size.end() :]
    name = " ".join(name.split())
    if len(name) <= 60:
        name = _BEHIND.sub(r"\3 \1\2", name)
        name = _FAMILY.sub(lambda found: found[1].upper() + " ", name)
        if found := _BARE.fullmatch(_SUFFIX.sub(_spelt, name)[:8].rstrip()) or _BARE.match(_SUFFIX.sub(_spelt, name)):
            number = int(found[1])
            family = "GTX" if 1000 < number < 1700 else "RTX" if 2000 < number < 6000 and number % 10 == 0 else ""
            name = f"{family} {name[found.start(1) :]}" if family else name
        for wrong, right in _OTHER_NAMES:
            name = wrong.sub(right, name)
        name = _WRONG_FAMILY.sub(lambda found: _FAMILY_OF[(found[1] or found[2]).upper()], name)
        if re.search(r"\b(?:RTX|GTX) \d", name):
            name = " ".join(_SUFFIX.sub(_spelt, name).split())
            name = re.sub(r"\bGPU (?=GPU\b)", "", name)
            name = re.sub(r"\b(GTX (?:10|9)\d0(?: Ti)?) Laptop GPU$", r"\1", name)  # their names say no more
    return Typed(name.strip(" ,;"), count, memory)


def _spelt(found: re.Match[str]) -> str:
    return _SPELT[found[1].lower().replace("-", "")]


def is_board(text: str) -> bool:
    """Whether this is a board's name and nothing else, but for what stands in brackets behind it."""
    found = GPU.match(text.strip())
    return found is not None and re.fullmatch(r"\s{0,3}(?:\(.{0,60}\))?", text.strip()[found.end() :]) is not None
