"""Names out of text: what is replaced, what stays, and that tokens keep the shape and the sameness of things."""

from __future__ import annotations

import ipaddress
import re

import pytest

from collectors.redact import Redactor
from collectors.redact.tokens import Tokens

KEY = b"a key of tests"
UUID = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"

GONE = {
    "syslog": ("Mar  9 12:02:11 zeus21 kernel: NVRM: Xid (PCI:0000:41:00): 79", ["zeus21"]),
    "journal": ("2026-03-09T12:02:11.123456+00:00 zeus21 systemd[1]: Started", ["zeus21"]),
    "nccl": ("zeus-21:8812:9001 [0] NCCL INFO Using eth0:10.3.0.5<0>", ["zeus-21", "10.3.0.5"]),
    "uname": ("Linux athena 6.8.0-60-generic #63 SMP x86_64 GNU/Linux", ["athena"]),
    "prompt": ("ada@zeus21:~/jobs$ ls", ["ada", "zeus21"]),
    "domain": ("[root@zeus21.hpc.acme.com ~]# curl registry.acme.com", ["zeus21", "acme"]),
    "mail": ("contact ada.lovelace@acme.com", ["lovelace", "acme"]),
    "home": ("File '/home/lovelace/x.py'; cache in /data/lovelace/c", ["lovelace"]),
    "short home": ("File '/home/li/x.py', cache in /data/li", ["/li"]),
    "id": ("uid=1000(lovelace) gid=1000(lovelace) groups=1000(lovelace),44(video)", ["lovelace"]),
    "ls": ("-rw-r--r-- 1 lovelace users 12 Mar  9 12:02 a.txt", ["lovelace"]),
    "slurm": ("SLURM_NODELIST=zeus[01-03,17] on zeus02 and zeus17", ["zeus"]),
    "endpoint": ("torchrun --rdzv-endpoint=zeus21:29500 --nnodes 2", ["zeus21"]),
    "manifest": ('"hostname": "zeus21", "x": 1', ["zeus21"]),
    "aws": ("ip-10-3-0-5.ec2.internal is not ready", ["10-3-0-5"]),
    "address of the kernel": ("   0: 0500030A:1F90 0600030A:0016 01 00000000:00000000", ["0500030A", "0600030A"]),
    "ipv6": ("inet6 2a01:4f8:13b::5/64 and fe80::a00:27ff:fe4e:66a1%ib0", ["2a01", "4e:66a1"]),
    "gid": ("GID 0000:0000:0000:0000:0000:ffff:0a03:0005", ["0a03:0005"]),
    "mac": ("link/ether 0c:42:a1:7b:33:10 brd ff:ff:ff:ff:ff:ff", ["0c:42:a1:7b:33:10"]),
    "uuid": (f"GPU 0: H100 (UUID: {UUID}), CUDA_VISIBLE_DEVICES=GPU-8932f937", ["8932f937", "c12f"]),
    "serial": ("Serial Number                : 1652923012345", ["1652923012345"]),
    "serial in xml": ("<serial>1652923012345</serial>", ["1652923012345"]),
    "guid": ("Node GUID: 0x506b4b0300f9f983 and 506b:4b03:00f9:f983", ["506b4b03", "506b:4b03"]),
    "machine id": ("Machine ID: 1b2e3f405162738495a6b7c8d9e0f102", ["1b2e3f40"]),
}
STAYS = {
    "what exists everywhere": "127.0.0.1 0.0.0.0 255.255.255.0 169.254.169.254 172.17.0.2 docker0 lo ::1 ff02::1",
    "places in the machine": "0000:41:00.0 PCI:0000:41:00 eth0 mlx5_0 ib0 enp1s0f0 /dev/nvidia0 node0 NUMA node 1",
    "times": "12:34:56 2026-03-09 12:34:56.789 [   12.345678]",
    "versions": "nvidia-cufft-cu12==11.2.1.3, libcublas.so.12.4.5.8, VBIOS 96.00.74.00.01, CUDA Version: 12.4.1.0",
    "pip list": "nvidia-curand-cu12                       10.3.5.147",
    "dpkg": "ii  libfoo2:amd64    10.2.1.4    amd64   a library",
    "apt": "Upgrade: libfoo:amd64 (1.2.5.1-2, 1.2.5.1-3)",
    "c++": "c10d::add and std::vector<at::Tensor> in c10::cuda::abc",
    "nobody": "root@localhost uid=0(root) /home/ubuntu/x git@github.com https://huggingface.co/x nobody",
    "builders": "Linux version 6.8.0 (buildd@lcy02-amd64-115) (gcc 13)",
    "device ids": "00:1e.0 PCI bridge [0604]: Red Hat, Inc. [1b36:0001] abar m2048@0xd3201000",
    "arguments": "--tensor-parallel-size 8 --host 0.0.0.0 --port 8000 max_model_len=8192",
    "no serial": "Serial Number : N/A, serial: 0, Serial: 8250/16550 driver, 4 ports",
    "firmware variable": "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "zeros": "00000000-0000-0000-0000-000000000000 00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
}


def redacted(*texts: str, key: bytes = KEY) -> str:
    redactor = Redactor(key)
    for text in texts:
        redactor.learn(text)
    return redactor.redact(texts[-1])


@pytest.mark.parametrize("name", GONE)
def test_names_and_addresses_are_replaced(name: str) -> None:
    """Nothing of them is left, and everything else of the line is."""
    text, names = GONE[name]

    found = redacted(text)

    assert [part for part in names if part.lower() in found.lower()] == []
    assert len(found.split()) == len(text.split())


@pytest.mark.parametrize("name", STAYS)
def test_what_tells_of_nobody_stays(name: str) -> None:
    """Evidence is full of what only looks like a name or an address."""
    assert STAYS[name] == redacted(STAYS[name])


def test_the_same_thing_has_the_same_token_everywhere() -> None:
    """What is learnt in one file is replaced in another, also within paths, and always by the same token."""
    log = "ada@zeus21:~$ hostname"
    other = "rank 3 on zeus21 (/data/zeus21/ckpt): connect to 10.3.0.5 failed; 10.3.0.5 is zeus21"

    tokens = set(re.findall(r"host[a-z]{5}21", redacted(log, other)))

    assert len(tokens) == 1
    assert redacted(log, other).count(tokens.pop()) == 3


def test_a_name_that_is_a_word_is_replaced_only_where_it_is_a_name() -> None:
    """A machine called `gpu` must not cost the word."""
    text = "Mar  9 12:02:11 gpu kernel: the gpu has fallen off the bus\nroot@gpu:~# x"

    found = redacted(text)

    assert "the gpu has fallen" in found
    assert " gpu kernel" not in found
    assert "@gpu" not in found


def test_tokens_keep_the_shape() -> None:
    """An address of its kind, a UUID and its abbreviation, a serial of as many digits, the number of a host."""
    text = f"{UUID} GPU-8932f937 10.3.0.5/24 10.3.0.0/16 10.3.9.9 8.8.8.8 Serial: AB1652923012 0c:42:a1:7b:33:10"

    uuid, short, first, network, other, public, _, serial, mac = redacted(text).split()

    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid)
    assert uuid.startswith(short)
    ours = ipaddress.ip_interface(first)
    assert ours.ip in ipaddress.ip_network(network)
    assert ipaddress.ip_address(other) in ipaddress.ip_network(network)
    assert ipaddress.ip_address(other) not in ours.network
    assert ours.ip in ipaddress.ip_network("10.0.0.0/8")
    assert first.endswith(".5/24")
    assert ipaddress.ip_address(public) in ipaddress.ip_network("240.0.0.0/4")
    assert re.fullmatch(r"[A-Z]{2}\d{10}", serial)
    assert re.fullmatch(r"02(:[0-9a-f]{2}){5}", mac)


def test_two_things_never_get_one_token() -> None:
    """All private networks of 10.0.0.0/8 stay apart, and none comes to lie in one that is kept."""
    tokens = Tokens(KEY)
    given = [
        f"{first}.{second}.{third}.1"
        for first, second in ((10, 3), (172, 16), (172, 18), (192, 168))
        for third in range(256)
    ]

    made = [tokens.ipv4(address) for address in given]

    assert len(set(made)) == len(set(given))
    assert {made[given.index("192.168.122.1")], tokens.ipv4("172.17.3.1")} == {"192.168.122.1", "172.17.3.1"}
    assert not any(token.startswith("172.17.") for token in made)
    assert all(ipaddress.ip_address(token).is_private for token in made)


def test_a_key_gives_the_same_tokens_again_and_another_gives_others() -> None:
    """So two bundles can be compared, and nobody without the key can tell what a token stands for."""
    text = GONE["nccl"][0]

    assert redacted(text) == redacted(text)
    assert redacted(text) != redacted(text, key=b"another")


def test_places_are_counted_by_kind() -> None:
    """How many were replaced is told, never what."""
    redactor = Redactor(KEY)
    text = f"ada-l@zeus21:~$ ping 10.3.0.5 {UUID} zeus21"
    redactor.learn(text)
    redactor.redact(text)

    assert redactor.counts == {"host": 2, "user": 1, "ip-address": 1, "uuid": 1}


def test_line_ends_stay() -> None:
    """Each line stays one, whatever ends it."""
    text = "Mar  9 12:02:11 zeus21 kernel: a\r\n\n\x0c10.3.0.5\rb\x85c\u2028d\nzeus21"

    assert len(redacted(text).split("\n")) == len(text.split("\n"))
    assert redacted(text).count("\r") == text.count("\r")
