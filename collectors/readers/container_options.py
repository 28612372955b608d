"""By which options containers are started: docker run, compose files, Kubernetes manifests.

    docker run --rm --gpus all --ipc=host --shm-size 32g --ulimit memlock=-1 nvcr.io/nvidia/pytorch:25.01-py3
        shm_size: 16gb
          emptyDir: {medium: Memory, sizeLimit: 16Gi}

Follows docker and podman run, the Compose specification, Kubernetes v1. Options count up to the image: what
stands behind it is the program's. A value that is a variable is not known and gives nothing. Parts of a manifest
give what they hold; how a container runs in truth is told by ContainerConfig.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._command_lines import LEAD, CommandLine, command_lines, observed
from collectors.readers._regex import regex
from collectors.readers._yaml_keys import Entry, entries
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.launch import ContainerOption, Option

MOST_OPTIONS = 500

_RUN = regex(rf"{LEAD}(?:docker|podman|nerdctl)(?: --?\S{{1,80}}){{0,4}} (?:container )?run(?P<rest>\s.*)")
_TOKEN = regex(r"(?:[^\s\"']{1,400}|\"[^\"]{0,400}\"|'[^']{0,400}'){1,20}")
_FLAGS = frozenset(
    ("--rm", "--init", "--read-only", "--tty", "--interactive", "--detach", "--quiet", "--privileged", "--replace")
)
_SHORT_FLAGS = regex(r"-[itdPq]{1,5}$")
_OPTIONS: dict[str, Option] = {
    "--shm-size": "shm_size",
    "--ipc": "ipc",
    "--gpus": "gpus",
    "--runtime": "runtime",
    "--network": "network",
    "--net": "network",
    "--pid": "pid",
    "--user": "user",
    "-u": "user",
    "--cap-add": "cap_add",
    "--security-opt": "security_opt",
    "--device": "device",
    "--memory": "memory",
    "-m": "memory",
    "--memory-swap": "memory_swap",
    "--cgroupns": "cgroupns",
    "--userns": "userns",
    "--hostname": "hostname",
    "-h": "hostname",
}
_ULIMITS: dict[str, Option] = {"memlock": "ulimit_memlock", "stack": "ulimit_stack", "nofile": "ulimit_nofile"}
_GIVES_GPUS = regex(r"\s--(?:gpus|runtime|device|privileged|volume-driver)\b|NVIDIA_|/dev/nvidia|/dev/dxg|\$")
_SERVICE = regex(
    r"(?:\S{1,80}/)?(?:postgres|redis|nginx|registry|hello-world|alpine|busybox|mysql|mariadb|mongo|rabbitmq|minio|etcd|memcached"
    r"|traefik|prometheus|grafana|node-exporter|cadvisor|portainer|watchtower|httpd|caddy|elasticsearch|kibana)\b"
)
"""Images of services that need no GPU."""
_MOUNTS = ("-v", "--volume", "--mount", "--tmpfs")
_OF_COMPOSE: dict[str, Option] = {
    "shm_size": "shm_size",
    "ipc": "ipc",
    "runtime": "runtime",
    "network_mode": "network",
    "pid": "pid",
    "user": "user",
    "privileged": "privileged",
    "hostname": "hostname",
    "image": "image",
    "mem_limit": "memory",
    "cap_add": "cap_add",
    "security_opt": "security_opt",
    "devices": "device",
    "gpus": "gpus",
    "userns_mode": "userns",
    "cgroup": "cgroupns",
}
_OF_POD: dict[str, Option] = {"hostIPC": "ipc", "hostNetwork": "network", "hostPID": "pid"}
_OF_CONTAINER: tuple[tuple[tuple[str, ...], Option], ...] = (
    (("securityContext", "privileged"), "privileged"),
    (("capabilities", "add"), "cap_add"),
    (("securityContext", "runAsUser"), "user"),
    (("resources", "limits", "memory"), "memory"),
    (("runtimeClassName",), "runtime_class"),
)
_SIZE = regex(r"(?P<number>\d{1,12}(?:\.\d{1,3})?) ?(?P<unit>[kKmMgGtT]?)i?[bB]?$")
_MIB = {"": 2**-20, "k": 2**-10, "m": 1.0, "g": 1024.0, "t": 2.0**20}
_SIZES = frozenset(("shm_size", "memory", "memory_swap", "shm_volume"))
_SHM = "/dev/shm"  # noqa: S108 - where the kernel has it


def read(section: Section) -> Iterator[Reading]:
    """ContainerOption for each option of each container that is started or described."""
    found: dict[ContainerOption, Observed] = {}
    whole: list[bool] = []
    for command in command_lines(section, "docker", "podman ", "nerdctl "):
        match = _RUN.match(command.text)
        if match is not None:
            given = list(_of_run(match["rest"], command))
            whole.append("$" not in match["rest"] and any(one.option == "image" for one in given))
            for one in given:
                found.setdefault(one, observed(section, one, command))
    for one, first, last in (*_of_compose(section), *_of_manifest(section)):
        found.setdefault(one, section.observe(one, first, last))
    yield from list(found.values())[:MOST_OPTIONS]
    if found:
        manifest = section.path.endswith((".yaml", ".yml")) or (section.command or "").startswith(
            ("cat ", "kubectl ")
        )
        yield section.looked(ContainerOption, complete=all(whole) if whole else manifest)


def _of_run(rest: str, command: CommandLine) -> Iterator[ContainerOption]:
    name: str | None = None
    given: list[tuple[Option, str]] = []
    tokens = iter(_TOKEN.findall(rest[:8000]))
    for token in tokens:
        if not token.startswith("-"):
            given.append(("image", token.strip("\"'")))
            break
        option, equals, value = token.partition("=")
        if option == "--privileged":
            given.append(("privileged", value or "true"))
        if option in _FLAGS or _SHORT_FLAGS.match(token):
            continue
        value = value if equals else next(tokens, "")
        value = value.strip("'").strip('"')
        if option == "--name":
            name = value
        given += _of_option(option, value)
    is_job = bool(given) and given[-1][0] == "image" and not _SERVICE.match(given[-1][1])
    if is_job and not _GIVES_GPUS.search(rest[:8000]):
        given.append(("without_gpus", given[-1][1]))
    for known, value in given:
        if value and "$" not in value:
            yield _fact(known, value, "run", name, command.origin)


def _of_option(option: str, value: str) -> list[tuple[Option, str]]:
    if option == "--ulimit":
        limit, _, bound = value.partition("=")
        return [(_ULIMITS[limit], bound)] if limit in _ULIMITS else []
    if option in _MOUNTS:
        return [("shm_volume", value)] if _SHM in value else []
    return [(_OPTIONS[option], value)] if option in _OPTIONS else []


def _fact(option: Option, value: str, form: str, container: str | None, origin: str) -> ContainerOption:
    size = _SIZE.search(value) if option in _SIZES else None
    mib = round(float(size["number"]) * _MIB[size["unit"].lower()]) if size else None
    return ContainerOption.model_validate(
        {
            "option": option,
            "value": value[:200],
            "mib": mib,
            "form": form,
            "container": container,
            "origin": origin,
        }
    )


def _of_compose(section: Section) -> Iterator[tuple[ContainerOption, int, int]]:
    for entry in entries(section.lines) if any(line.startswith("services:") for line in section.lines) else ():
        if len(entry.path) < 3 or entry.path[0] != "services":
            continue
        service, key = entry.path[1], entry.path[2]
        for option, value in _of_service(entry, key):
            if "$" not in value:
                yield _fact(option, value, "compose", service, "config"), entry.at, entry.at


def _of_service(entry: Entry, key: str) -> Iterator[tuple[Option, str]]:
    if key in _OF_COMPOSE and len(entry.path) <= 4:
        yield _OF_COMPOSE[key], entry.value
    elif key == "ulimits" and len(entry.path) > 3 and entry.path[3] in _ULIMITS and entry.path[-1] != "hard":
        yield _ULIMITS[entry.path[3]], entry.value
    elif key in {"volumes", "tmpfs"} and _SHM in entry.value:
        yield "shm_volume", entry.value
    elif key == "deploy" and entry.ends("devices", "count"):
        yield "gpus", f"count={entry.value}"
    elif key == "deploy" and entry.ends("devices", "device_ids"):
        yield "gpus", f"device={entry.value}"


def _of_manifest(section: Section) -> Iterator[tuple[ContainerOption, int, int]]:
    if not any(line.startswith("apiVersion: ") for line in section.lines):
        return
    volumes: dict[str, dict[str, tuple[str, int]]] = {}
    mounted: dict[str, str] = {}
    for entry in entries(section.lines):
        if (item := entry.under("volumes")) is not None:
            volumes.setdefault(item, {})[entry.path[-1]] = (entry.value, entry.at)
        elif (item := entry.under("volumeMounts")) is not None:
            key = f"{item} {entry.path[-1]}"
            mounted[key] = entry.value
        else:
            for option, value in _of_pod(entry):
                yield _fact(option, value, "kubernetes", None, "config"), entry.at, entry.at
    shared = {mounted.get(f"{key.split(' ')[0]} name") for key, value in mounted.items() if value == _SHM}
    for volume in volumes.values():
        if volume.get("name", ("", 0))[0] in shared - {None}:
            kind = "emptyDir" if {"medium", "sizeLimit", "emptyDir"} & set(volume) else "volume"
            words = [kind, *(volume[key][0] for key in ("medium", "sizeLimit", "path") if key in volume)]
            lines = [index for _, index in volume.values()]
            yield _fact("shm_volume", " ".join(words), "kubernetes", None, "config"), min(lines), max(lines)


def _of_pod(entry: Entry) -> Iterator[tuple[Option, str]]:
    last = entry.path[-1]
    if last in _OF_POD and entry.value.lower() == "true":
        yield _OF_POD[last], "host"
    elif last.startswith("nvidia.com/") and entry.ends("limits", last):
        yield "gpus", f"{last}={entry.value}"
    elif last == "image" and entry.under("containers") is not None:
        yield "image", entry.value
    else:
        for keys, option in _OF_CONTAINER:
            if entry.ends(*keys):
                yield option, entry.value


READER = Reader(
    "container-options",
    read,
    markers=("docker run", "podman run", "nerdctl run", "docker container run", "services:", "apiVersion: "),
    commands=("docker ", "podman ", "nerdctl "),
)
