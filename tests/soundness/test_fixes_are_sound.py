"""The soundness of fixes as a property, over machines made of the matrix's own rows."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

from doctor.snapshot import Snapshot

from .machines import machines
from .sound import assert_fixes_are_sound

EXAMPLES = int(os.environ.get("GPUDOCTOR_SOUNDNESS_EXAMPLES", "400"))


SOME = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@SOME
@given(machines())
def test_first_fixes_are_sound(machine: Snapshot) -> None:
    assert_fixes_are_sound(machine)


@pytest.mark.slow
@settings(SOME, max_examples=EXAMPLES)
@given(machines())
def test_first_fixes_of_more_machines_are_sound(machine: Snapshot) -> None:
    assert_fixes_are_sound(machine)
