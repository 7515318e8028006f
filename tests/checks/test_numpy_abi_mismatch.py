"""NumPy 2 beside a torch that was built for NumPy 1."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import Missing, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import import_fails, with_version

ID = "torch-import-broken"


def test_numpy_2_beside_an_old_torch() -> None:
    old = with_version(healthy("a100"), torch="2.2.2", torchvision="0.17.2", torchaudio="2.2.2", triton="2.2.0")
    dists = tuple(
        replace(d, requires=()) if d.name.startswith("torch") else d for d in known(old.python.distributions) or ()
    )
    sick = old.replace(
        {
            "torch.version": "2.2.2+cu121",
            "torch.cuda": "12.1",
            "torch.requires": (),
            "python.distributions": dists,
            "torch.cudnn_bundled": "8.9.2",
            "torch_run.cudnn_version": "8.9.2",
        }
    )
    assert ids(sick) == ["numpy-abi-mismatch"]
    finding = run("numpy-abi-mismatch", sick)[2][0]
    assert_fix_works(sick, finding)
    assert "numpy<2" in finding.fixes[0].steps[0].command
    assert ids(with_version(sick, numpy="1.26.4")) == []
    assert run("numpy-abi-mismatch", sick.replace({"python.distributions": Missing("denied")}))[0] == "unknown"


def test_a_torch_without_numpy_clashes_with_none() -> None:
    """torch up to 2.4 says of a NumPy that is not installed what it says of one that does not fit."""
    said = ("Numpy is not available", "Failed to initialize NumPy: numpy.core.multiarray failed to import")
    for words in (*said, "Failed to initialize NumPy: _ARRAY_API not found"):
        sound = with_version(healthy(), torch="2.4.1").replace({"torch_run.warnings": (words,)})
        without = tuple(d for d in known(sound.python.distributions) or () if d.name != "numpy")
        alone = sound.replace({"python.distributions": without})
        assert "numpy-abi-mismatch" not in ids(alone), words
        two = [d for d in without if d.name == "torch"]
        with_numpy = sound.replace({"python.distributions": (*without, replace(two[0], name="numpy", version="2.2.6"))})
        assert "numpy-abi-mismatch" in ids(with_numpy), words


def test_numpys_own_words_are_the_cause() -> None:
    words = "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.6 as it may crash."
    assert ids(import_fails(healthy(), words)) == ["numpy-abi-mismatch", ID]
