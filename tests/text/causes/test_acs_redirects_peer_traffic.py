"""acs-redirects-peer-traffic."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "acs-redirects-peer-traffic"


@for_each(
    ("text", "command"),
    [
        (
            "ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-",
            "export NCCL_P2P_DISABLE=1",
        ),
        ("acs: enabled\nall_reduce hangs", "export NCCL_P2P_DISABLE=1"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-",
        "iommu: on",
        "the macs of both cards",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
