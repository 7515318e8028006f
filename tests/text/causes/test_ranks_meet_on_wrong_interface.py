"""ranks-meet-on-wrong-interface."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "ranks-meet-on-wrong-interface"


@for_each(
    ("text", "command"),
    [
        ("node1:12:12 [0] NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>", "NCCL_SOCKET_IFNAME"),
        ("node1:12:12 [0] NCCL INFO Bootstrap : Using [0]virbr0:192.168.122.1<0>", "NCCL_SOCKET_IFNAME"),
        (
            "kubernetes: True\ncontainer: True\nNCCL WARN Call to connect to 172.17.0.1<41211> failed : Connection refused",
            "env: [{name: NCCL_SOCKET_IFNAME",
        ),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "node1:12:12 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.5<0>",
        "node1:12:12 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB",
        "docker0: flags=4099<UP,BROADCAST,MULTICAST>  mtu 1500",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
