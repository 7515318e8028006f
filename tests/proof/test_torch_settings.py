"""Settings of torch.backends as each generation of torch answers for them."""

from __future__ import annotations

import pytest

from doctor.patient.torch_settings import set_tf32, set_to, setting


class Before20:
    """torch 1.13: an unknown name is an AssertionError, which hasattr lets pass (torch/backends/cuda/__init__.py)."""

    def __init__(self) -> None:
        self.__dict__["kept"] = {"allow_tf32": True}

    def __getattr__(self, name: str) -> object:
        assert name in self.kept, "Unknown attribute " + name
        return self.kept[name]

    def __setattr__(self, name: str, value: object) -> None:
        assert name in self.kept, "Unknown attribute " + name
        self.kept[name] = value


class Renamed:
    """A torch that has dropped allow_tf32."""

    fp32_precision = "tf32"

    def __setattr__(self, name: str, value: object) -> None:
        if name == "allow_tf32":
            raise RuntimeError("use fp32_precision")
        super().__setattr__(name, value)


def test_a_setting_that_is_not_there_is_none() -> None:
    old = Before20()
    with pytest.raises(AssertionError):
        hasattr(old, "allow_bf16_reduced_precision_reduction")
    assert setting(old, "allow_bf16_reduced_precision_reduction") is None
    assert set_to(old, "allow_bf16_reduced_precision_reduction", False) is False
    assert set_to(old, "allow_tf32", False) is True and setting(old, "allow_tf32") is False


def test_tf32_by_the_name_that_this_torch_has() -> None:
    old, renamed = Before20(), Renamed()
    set_tf32(old, False)
    set_tf32(renamed, False)
    assert (setting(old, "allow_tf32"), renamed.fp32_precision) == (False, "ieee")
    with pytest.raises(RuntimeError, match="cannot be switched off"):
        set_tf32(object(), False)
