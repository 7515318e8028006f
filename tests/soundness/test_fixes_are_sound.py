"""The soundness of fixes as a property, over machines made of the matrix's own rows."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given

from doctor.snapshot import Snapshot

from ..drawn import drawn
from .machines import machines
from .sound import assert_fixes_are_sound


@pytest.mark.slow
@drawn(400, suppress_health_check=list(HealthCheck))
@given(machines())
def test_first_fixes_are_sound(machine: Snapshot) -> None:
    assert_fixes_are_sound(machine)
