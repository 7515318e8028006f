"""glibc too old, libstdc++ too old, musl."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import import_fails, not_asked

ID = "torch-import-broken"


@for_each(
    "error",
    [
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by libtorch_cpu.so)",
        "ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by libtorch.so)",
    ],
)
def test_an_old_c_library_is_the_cause(error: str) -> None:
    sick = import_fails(healthy(), error).replace({"host.libc": "glibc 2.17"})
    assert ids(sick) == ["libc-incompatible", ID]
    assert_fix_works(sick, run("libc-incompatible", sick)[2][0])


def test_musl_is_seen_without_an_import() -> None:
    assert "libc-incompatible" in ids(not_asked(healthy()).replace({"host.libc": "musl 1.2.4"}))


def test_the_c_library_unknown() -> None:
    assert run("libc-incompatible", not_asked(healthy()).replace({"host.libc": Missing("error")}))[0] == "unknown"
