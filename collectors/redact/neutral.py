"""Names that tell of nobody, and words that mean something else in evidence than the host or user called so."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


HOSTS = _words(
    """
    tcp udp http https file env unix localhost localhost4 localhost6 localdomain none unknown null host hostname
    node machine linux container self broadcasthost default kernel true false local github gitlab
    docker ubuntu debian
    """
)
"""No names of machines; they stay."""

DOMAINS = tuple(
    _words(
        """
        localdomain local internal example.com example.org example.net github.com huggingface.co hf.co nvidia.com
        pypi.org pytorch.org python.org docker.io docker.com nvcr.io ghcr.io quay.io gcr.io k8s.io kubernetes.io
        cluster.local ubuntu.com debian.org launchpad.net kernel.org redhat.com fedoraproject.org amazonaws.com
        googleapis.com modelscope.cn anaconda.org anaconda.com
        """
    )
)
"""They belong to the public: these domains and all below them stay."""

USERS = _words(
    """
    mpiexec mpirun hydra prted orted modprobe getty autovt root nobody daemon bin sys sync games man lp mail news
    uucp proxy backup list irc gnats syslog
    messagebus polkitd sshd systemd-network systemd-resolve systemd-timesync systemd-coredump systemd-oom
    dbus rtkit avahi chrony ntp ubuntu debian centos rocky fedora ec2-user admin azureuser core opc vagrant
    user users username me you git runner jovyan coder nvidia nvidia-persistenced nvidia-dcgm docker video
    render kvm sudo adm wheel staff tty disk input postgres redis mysql www-data http munge slurm buildd
    mockbuild dvs-builder kojibuilder lxd libvirt-qemu nogroup app appuser workspace data home shared tmp
    job jobs train test guest default none null unknown pci
    """
)
"""Accounts of systems, images and roles; they stay."""

FOLDERS = _words(
    """
    bin dev etc lib log mnt opt run sys tmp usr var srv net cfg doc src obj pid env pkg git
    """
)
"""Short names of folders; a user called so is replaced below /home alone."""

_WORDS = _words(
    """
    server servers worker workers master head gpu gpus cpu cpus login compute storage network cluster client
    driver rank ranks local global main node nodes host hosts job jobs task tasks test train trainer
    training model models data home work user users admin root router proxy gateway rack slot port pci pcie
    nvlink nvswitch fabric nvidia cuda nccl torch python vllm sglang ray slurm kube kubelet docker container
    containers pod pods image kernel linux ubuntu debian rocky centos redhat error errors warning info debug
    fatal fail failed failure timeout init start stop exit done ready mark max min will may art dev prod
    stage staging system service memory device devices module version release build lab labs box tower
    desktop laptop workstation machine dgx hgx mgx super hpc vm serve serving infer inference launcher
    scheduler controller manager monitor agent daemon process thread core cores team research science ai ml
    llm deep learning one two three alpha beta gamma power mail file files
    """
)
_MEANS_A_DEVICE = re.compile(
    r"(?:[abhlvt]\d{1,4}\w{0,3}|gb?\d{2,3}\w?|rtx\w*|gtx\w*|gpu(?:\d|1\d)?|cpu\d{0,3}|cuda\d*|nvidia\d*"
    r"|mlx\d(?:_\d+)?|eth\d+|ens?\w{1,8}"
    r"|eno\d+|enp\w+|ib\w?\d+|bond\d+|docker\d|veth\w*|lo|rank\d*|node\d|numa\d*|nic\d+|hca\d*|sm_?\d+"
    r"|v?\d[\d.]*\w?|x\d+_\d+"
    r"|[0-9a-f]{4}|0x\w+|\w+-linux-gnu|amd\d+|arm\d+|p2p\d*|mi\d+\w?|u\d{2}|py\d*)",
    re.IGNORECASE,
)


def is_ambiguous(name: str) -> bool:
    """Whether a name may mean something else where it stands by itself: a word, a device, a few letters."""
    plain = name.lower()
    return len(plain) < 4 or plain in _WORDS or _MEANS_A_DEVICE.fullmatch(plain) is not None


def is_public(domain: str) -> bool:
    """Whether the domain is one of those that everybody uses."""
    return any(domain == known or domain.endswith(f".{known}") for known in DOMAINS)
