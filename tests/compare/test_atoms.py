"""What is put back is what was there: of any two machines, and nothing else changes."""

from __future__ import annotations

from random import Random

import pytest

from doctor.compare.atoms import SECTIONS, Atom, Pair
from doctor.compare.packages import packages
from doctor.compare.units import units
from doctor.report.compare_markdown import compare_markdown
from doctor.report.compare_page import compare_page
from doctor.report.compare_text import compare_text
from doctor.report.terminal import Display
from doctor.snapshot import EnvVar, Snapshot, known

from ..healthy import healthy
from ..rows import Faults, for_each
from ..scenarios.fact_cases import cases
from .machines import answer, harmless


def machines(count: int, seed: int) -> list[tuple[str, Snapshot, Snapshot]]:
    """Pairs of scenario machines, mostly with nothing in common."""
    every = list(cases())
    rng = Random(seed)
    pairs = [(rng.choice(every), rng.choice(every)) for _ in range(count)]
    return [(f"{one.name} and {other.name}", one.snapshot, other.snapshot) for one, other in pairs]


def in_order(value: object) -> object:
    """A list whose items have names, in no order of its own."""
    return sorted(map(repr, value)) if isinstance(value, tuple) else value


def assert_all_can_be_put_back(old: Snapshot, new: Snapshot) -> None:
    pair = Pair(old, new)
    atoms = pair.atoms()
    every = [*atoms, *pair.readings(atoms)]
    assert len(set(every)) == len(every)
    grouped = [atom for unit in units(pair, atoms, packages(old, new)) for atom in unit]
    assert sorted(grouped) == sorted(atoms), "each atom is in one unit"
    for into_new, wanted in ((True, old), (False, new)):
        back = pair.with_back(every, into_new)
        for section in SECTIONS:
            one, other = getattr(back, section), getattr(wanted, section)
            fields = getattr(one, "__struct_fields__", ()) if section not in ("gpus", "gpu_pairs") else ()
            for name in fields:
                assert in_order(getattr(one, name)) == in_order(getattr(other, name)), f"{section}.{name}"
            if section == "gpu_pairs":
                assert in_order(one) == in_order(other)


@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_everything_put_back_is_the_old_machine(count: int) -> None:
    with Faults() as faults:
        for name, old, new in machines(count, count):
            with faults.of(name):
                assert_all_can_be_put_back(old, new)


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_any_two_machines_have_an_answer_in_every_format(count: int) -> None:
    with Faults() as faults:
        for name, old, new in machines(count, 1000 + count):
            with faults.of(name):
                found = answer(old, new)
                for one in (*found.appeared, *found.cured):
                    assert (one.explained in ("facts", "readings")) == bool(one.ways), one.id
                    assert all(way.facts for way in one.ways)
                for text in (compare_text(found, Display()), compare_markdown(found), compare_page(found)):
                    assert all(one.id in text for one in found.appeared)
                assert "None" not in compare_text(found, Display(verbose=1))


def test_one_atom_changes_one_fact() -> None:
    before, after, _ = harmless(healthy("h100", "h100"), 3)
    pair = Pair(before, after)
    for atom in pair.atoms():
        back = Pair(before, pair.with_back([atom])).atoms()
        assert set(back) == set(pair.atoms()) - {atom}


@for_each(
    ("old", "new", "order"),
    [
        ("abc", "ac", "abc"),
        ("abc", "bc", "abc"),
        ("abc", "ab", "abc"),
        ("ac", "abc", "ac"),
        ("", "ab", ""),
        ("ba", "", "ba"),
        ("acb", "dab", "acb"),
    ],
)
def test_an_item_comes_back_where_it_was(old: str, new: str, order: str) -> None:
    first, second = (
        healthy().replace({"host.environment": tuple(EnvVar(name, name) for name in names)}) for names in (old, new)
    )
    pair = Pair(first, second)
    back = known(pair.with_back(pair.atoms()).host.environment) or ()
    assert "".join(one.name for one in back) == order


def test_a_field_of_one_gpu_is_put_back_alone() -> None:
    old = healthy("h100", "h100")
    gpus = known(old.gpus) or ()
    new = old.replace({"gpus": tuple(gpu.with_(power_limit_w=300.0, vbios="2") for gpu in gpus)})
    pair = Pair(old, new)
    (one,) = [atom for atom in pair.atoms() if atom == Atom("gpus.power_limit_w", gpu=1)]
    back = known(pair.with_back([one]).gpus) or ()
    assert [gpu.power_limit_w for gpu in back] == [300.0, 700.0] and [gpu.vbios for gpu in back] == ["2", "2"]
