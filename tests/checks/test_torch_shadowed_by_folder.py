"""What `import torch` really took."""

from __future__ import annotations

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import import_fails, not_asked

ID = "torch-import-broken"


def test_a_folder_named_torch_is_the_cause() -> None:
    sick = healthy().replace({"torch_run.file": "/srv/project/torch/__init__.py"})
    assert ids(sick) == ["torch-shadowed-by-folder"]
    assert_fix_works(sick, run("torch-shadowed-by-folder", sick)[2][0])
    named = healthy().replace({"python.hidden_by": ("/srv/project/torch.py",)})
    status, _, findings = run("torch-shadowed-by-folder", named)
    assert (status, [f.status for f in findings]) == ("warn", ["warn"])
    assert_fix_works(named, findings[0])
    raised = import_fails(healthy(), "AttributeError: partially initialized module 'torch' has no attribute 'cuda'")
    assert ids(raised) == ["torch-shadowed-by-folder", ID]
    assert run("torch-shadowed-by-folder", not_asked(healthy()))[0] == "unknown"
