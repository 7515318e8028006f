"""Runs PTX on the CPU: the few instructions that doctor/patient/driver_proof.py's kernel uses, thread by thread.

Written from the PTX ISA manual, not from the agent's own arithmetic, so that the two can be held against each other.
Anything that it does not know is a KeyError or ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from struct import pack, unpack

MASK = 0xFFFFFFFF
SOURCE, RESULT = 1 << 40, 1 << 41
"""Where the two buffers lie in device memory."""


def statements(text: str) -> list[str]:
    """The body's labels and instructions in order, declarations left out."""
    body = text[text.index("{") + 1 : text.rindex("}")]
    words = [word.strip() for word in re.sub(r"(\w+):", r"\1:;", body).split(";")]
    return [" ".join(word.split()) for word in words if word and not word.startswith(".")]


def run(text: str, source: list[int], seed: int, rounds: int, size: int) -> list[int]:
    """What the kernel writes, for whole blocks of `size` threads."""
    lines = statements(text)
    memory = {SOURCE + 4 * i: value for i, value in enumerate(source)}
    for block in range(len(source) // size):
        shared: dict[int, int] = {}
        running = [
            _Thread(lines, memory, shared, {"%ctaid.x": block, "%ntid.x": size, "%tid.x": t}, seed, rounds).run()
            for t in range(size)
        ]
        while running:  # each as far as the next barrier, which all must reach
            arrived = [next(thread, None) is not None for thread in running]
            assert all(arrived) or not any(arrived), "threads of a block parted at a barrier"
            running = running if all(arrived) else []
    return [memory[RESULT + 4 * i] for i in range(len(source))]


def _float(value: Fraction) -> float:
    """Rounded once to 32 bits; the numbers here are exact in 64."""
    assert Fraction(float(value)) == value
    return float(unpack("<f", pack("<f", float(value)))[0])


class _Thread:
    def __init__(
        self,
        lines: list[str],
        memory: dict[int, int],
        shared: dict[int, int],
        place: dict[str, int],
        seed: int,
        rounds: int,
    ) -> None:
        self.lines, self.memory, self.shared = lines, memory, shared
        self.registers: dict[str, int | float] = {**place, "tile": 0}
        self.parameters = {"source_": SOURCE, "result_": RESULT, "seed_": seed, "rounds_": rounds}

    def value(self, word: str) -> int | float:
        return int(word, 0) if word[0].isdigit() else self.registers[word]

    def whole(self, word: str) -> int:
        value = self.value(word)
        assert isinstance(value, int), word
        return value

    def run(self) -> Iterator[bool]:
        """Yields at each barrier."""
        at = 0
        for _ in range(10_000):
            line = self.lines[at]
            at += 1
            if line.endswith(":"):
                continue
            if line.startswith("@"):
                predicate, line = line[1:].split(" ", 1)
                if not self.whole(predicate):
                    continue
            name, _, rest = line.partition(" ")
            words = [word.strip(" []") for word in rest.split(",")]
            if name == "ret":
                return
            if name == "bra":
                at = self.lines.index(words[0] + ":")
            elif name == "bar.sync":
                yield True
            elif name.startswith("st."):
                where = self.memory if ".global" in name else self.shared
                where[self.whole(words[0])] = self.whole(words[1])
            else:
                self.registers[words[0]] = self.result(name, words[1:])
        raise ValueError("it does not end")

    def result(self, name: str, words: list[str]) -> int | float:
        kind, *_ = name.split(".")
        if kind == "ld":
            if ".param" in name:
                return self.parameters[words[0]]
            return (self.memory if ".global" in name else self.shared)[self.whole(words[0])]
        if name == "fma.rn.f32":
            a, b, c = (Fraction(self.value(word)) for word in words)
            return _float(a * b + c)
        if name in ("mul.rn.f32", "add.rn.f32"):
            a, b = (Fraction(self.value(word)) for word in words)
            return _float(a * b if kind == "mul" else a + b)
        if name == "mov.b32":
            (bits,) = unpack("<I", pack("<f", self.value(words[0])))
            return int(bits)
        if name == "cvt.rn.f32.u32":
            return _float(Fraction(self.whole(words[0])))
        a, b, c = ([self.whole(word) for word in words] + [0, 0])[:3]
        wide = (1 << 64) - 1 if "64" in name or "wide" in name else MASK
        whole = {
            "mov.u32": a, "mov.u64": a, "cvta.to.global.u64": a, "add.u32": a + b, "add.u64": a + b, "sub.u32": a - b,
            "mad.lo.u32": a * b + c, "mul.wide.u32": a * b, "mul.hi.u32": a * b >> 32, "shr.u32": a >> min(b, 32),
            "xor.b32": a ^ b, "not.b32": ~a, "setp.ne.u32": int(a != b),
        }  # fmt: skip
        return whole[name] & wide
