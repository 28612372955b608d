"""Which interfaces and devices a variable chooses, and why what it chooses leads nowhere."""

from __future__ import annotations

import pytest
from combining import combined, complete, in_part, looked

from collectors.combiners.interfaces import chosen_by
from kb.facts.nccl import NcclSetting
from kb.facts.network import InterfaceSetting, NetworkInterface, RdmaPort
from kb.facts.settings import Setting

LOOPBACK = NetworkInterface(name="lo", state="up", role="loopback", virtual=True, address="127.0.0.1")
ETHERNET = NetworkInterface(name="eth0", state="up", role="physical", virtual=False, address="10.0.0.5")
DOCKER = NetworkInterface(
    name="docker0", state="no-carrier", role="docker-bridge", virtual=True, address="172.17.0.1"
)
CABLE_OUT = NetworkInterface(name="ens1", state="no-carrier", role="physical", virtual=False)
BARE = NetworkInterface(name="ib0", state="up", role="infiniband", virtual=False)
ALL = (LOOPBACK, ETHERNET, DOCKER, CABLE_OUT, BARE, complete(NetworkInterface))


def put(value: str, name: str = "NCCL_SOCKET_IFNAME") -> Setting:
    return Setting(name=name, value=value, origin="launch")


def judged(*facts) -> tuple[str, str | None]:
    """The problem and the names that were chosen."""
    (one,) = combined(InterfaceSetting, *facts)
    return one.problem, one.chosen


CHOICES = {
    "names are beginnings for NCCL": ("NCCL_SOCKET_IFNAME", "eth,ib", "eth0", True),
    "an equals sign asks for the whole name": ("NCCL_SOCKET_IFNAME", "=eth", "eth0", False),
    "a caret excludes": ("NCCL_SOCKET_IFNAME", "^docker,lo", "docker0", False),
    "what is not excluded is chosen": ("NCCL_SOCKET_IFNAME", "^docker,lo", "eth0", True),
    "a caret and an equals sign exclude one name": ("NCCL_SOCKET_IFNAME", "^=eth0", "eth01", True),
    "Gloo takes whole names": ("GLOO_SOCKET_IFNAME", "eth", "eth0", False),
    "a device may carry its port": ("NCCL_IB_HCA", "mlx5_0:1,mlx5_1", "mlx5_1", True),
}


@pytest.mark.parametrize(("name", "value", "one", "taken"), CHOICES.values(), ids=CHOICES.keys())
def test_what_a_value_chooses(name: str, value: str, one: str, taken: bool):
    """As NCCL's and Gloo's documentation has it."""
    assert chosen_by(name, value)(one) is taken


PROBLEMS = {
    "no such interface": (put("eno1"), ("not-found", None)),
    "the loopback": (put("lo"), ("loopback", "lo")),
    "a bridge of containers": (put("docker0"), ("virtual", "docker0")),
    "one without a cable": (put("ens1"), ("down", "ens1")),
    "one without an address": (put("ib0"), ("without-address", "ib0")),
    "a sound one": (put("eth0"), ("none", "eth0")),
    "a sound one among others": (put("eth,docker"), ("none", "eth0, docker0")),
    "everything but the loopback": (put("^lo"), ("none", "eth0, docker0, ens1, ib0")),
    "as NCCL reports it": (NcclSetting(name="NCCL_SOCKET_IFNAME", value="lo"), ("loopback", "lo")),
}


@pytest.mark.parametrize(("setting", "verdict"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_why_a_choice_leads_nowhere(setting, verdict: tuple[str, str | None]):
    """The fault of what is chosen, unless one of it is sound."""
    assert judged(setting, *ALL) == verdict


def test_a_name_is_missing_only_where_all_interfaces_were_listed():
    """A listing of some proves nothing on the others."""
    assert combined(InterfaceSetting, put("eno1"), ETHERNET, in_part(NetworkInterface)) == []
    assert combined(InterfaceSetting, put("eno1"), ETHERNET) == []


def test_devices_are_held_against_rdma_ports():
    """NCCL_IB_HCA, by the state of the ports that it names."""
    port = RdmaPort(device="mlx5_0", state="down")

    assert judged(put("mlx5_0:1", "NCCL_IB_HCA"), port, complete(RdmaPort)) == ("down", "mlx5_0")
    assert judged(put("mlx4", "NCCL_IB_HCA"), port, complete(RdmaPort)) == ("not-found", None)


def test_that_settings_were_looked_at_is_passed_on():
    """Only where there was a setting to look at."""
    assert looked(InterfaceSetting, put("eth0"), ETHERNET, complete(NetworkInterface)) == [True]
    assert looked(InterfaceSetting, ETHERNET, complete(NetworkInterface)) == []
