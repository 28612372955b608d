"""Our own bundles: the manifest tells what each piece is, from which host, and why a piece is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packed import contents, lay, manifest, tarred

from collectors.content import Content
from collectors.open import File, Opened, open_evidence
from kb.evidence import Unread


def bundle(tmp_path: Path, *artifacts: dict, **files: bytes) -> Opened:
    """A bundle of these artifacts and files."""
    content = {name.replace("__", "/"): text for name, text in files.items()}
    return open_evidence(
        [str(lay(tmp_path / "bundle", {"manifest.json": manifest(*artifacts), "x": b"x", **content}))]
    )


def file_of(opened: Opened, path: str) -> File:
    return next(file for file in opened.files if file.path == path)


@pytest.mark.parametrize("wrap", ["folder", "archive", "archive of a folder", "folder of folders"])
def test_a_manifest_makes_a_bundle(tmp_path, wrap):
    """It tells the host and which command or file each piece is; it is no evidence itself."""
    listed = manifest({"path": "c/d.txt", "command": ["dmesg", "-T"]}, {"path": "f/v", "file": "/proc/v"})
    files = {"manifest.json": listed, "c/d.txt": b"1", "f/v": b"2", "more.txt": b"3"}
    base = "node/" if "of" in wrap else ""
    files = {base + name: content for name, content in files.items()}
    if wrap.startswith("archive"):
        (tmp_path / "b").write_bytes(tarred(files))
    else:
        lay(tmp_path / "b", files)

    opened = open_evidence([str(tmp_path / "b")])

    assert [(one.kind, one.host, one.files) for one in opened.inputs] == [("bundle", "node-7", 3)]
    assert opened.files == [
        File(f"{base}c/d.txt", Content(b"1"), "dmesg -T"),
        File(f"{base}f/v", Content(b"2"), "cat /proc/v"),
        File(f"{base}more.txt", Content(b"3")),
    ]


NO_MANIFEST = {
    "cut": manifest()[:-9],
    "no JSON": b"\x00\xff",
    "a list": b"[1]",
    "of something else": b'{"schemaVersion": 2, "config": {}}',
    "of a later form": manifest().replace(b"bundle/1", b"bundle/2"),
    "with wrong parts": manifest({"path": 3}),
}


@pytest.mark.parametrize("content", NO_MANIFEST.values(), ids=NO_MANIFEST)
def test_a_manifest_that_is_none_is_a_file(tmp_path, content):
    """A damaged bundle is read as a directory, and another program's manifest is evidence."""
    opened = open_evidence([str(lay(tmp_path, {"manifest.json": content, "a": b"1"}))])

    assert [(one.kind, one.host) for one in opened.inputs] == [("directory", None)]
    assert contents(opened) == {"a": b"1", "manifest.json": content}


MISSING = {
    "an absent file": (
        {"name": "v", "file": "/proc/v", "outcome": "absent"},
        File("(v)", Content(b"cat: /proc/v: No such file or directory"), "cat /proc/v"),
        None,
    ),
    "an absent command": (
        {"name": "smi", "command": ["smi", "-q"], "outcome": "absent"},
        File("(smi)", Content(b"smi: command not found"), "smi -q"),
        None,
    ),
    "a file without permission": (
        {"name": "v", "file": "/proc/v", "outcome": "no-permission"},
        File("(v)", Content(b"cat: /proc/v: Permission denied"), "cat /proc/v"),
        Unread("/proc/v", "no-permission", "collect again as root to have it"),
    ),
    "a command that was too slow": (
        {"name": "smi", "command": ["smi"], "outcome": "timed-out", "error": "did not end in time"},
        None,
        Unread("smi", "timed-out", "did not end in time"),
    ),
    "a command that failed": (
        {"name": "smi", "command": ["smi"], "outcome": "failed", "error": "Bus error"},
        None,
        Unread("smi", "not-collected", "Bus error"),
    ),
    "an interrupted step": (
        {"name": "smi", "outcome": "interrupted"},
        None,
        Unread("smi", "not-collected", "the collector says: interrupted"),
    ),
    "a step that was not needed": (
        {"name": "v", "outcome": "skipped", "error": "not needed: it was there"},
        None,
        None,
    ),
    "a file that was there": (
        {"path": "gone.txt", "file": "/proc/v", "outcome": "ok"},
        None,
        Unread("/proc/v", "not-collected", "the collector says: the manifest names it, and it is not there"),
    ),
    "a file outside": (
        {"path": "../../etc/passwd", "file": "/etc/passwd", "outcome": "ok"},
        None,
        Unread("/etc/passwd", "not-collected", "the collector says: the manifest names it, and it is not there"),
    ),
}


@pytest.mark.parametrize(("artifact", "file", "unread"), MISSING.values(), ids=MISSING)
def test_a_piece_that_is_missing_says_why(tmp_path, artifact, file, unread):
    """What a shell would have said, where that is an answer; otherwise that it is not known."""
    opened = bundle(tmp_path, artifact)

    assert [one for one in opened.files if one.path != "x"] == ([file] if file else [])
    assert opened.unread == ([unread] if unread else [])


WHOLE = {
    "whole": ({}, False),
    "cut": ({"truncated": True}, True),
    "too slow": ({"outcome": "timed-out", "error": "did not end in time"}, True),
    "failed with a complaint": ({"outcome": "failed", "exit_code": 1, "error": "cannot open"}, True),
    "killed": ({"outcome": "failed", "exit_code": -9, "error": "ended by SIGKILL"}, True),
    "answered no": ({"outcome": "failed", "exit_code": 1, "error": "exit code 1"}, False),
}


@pytest.mark.parametrize(("more", "truncated"), WHOLE.values(), ids=WHOLE)
def test_a_piece_that_may_lack_something_is_marked(tmp_path, more, truncated):
    """Its silence proves nothing. A command that ends with 1, without a word, has given its answer."""
    opened = bundle(tmp_path, {"path": "out.txt", "command": ["grep", "x"], **more}, **{"out.txt": b"none\n"})

    assert file_of(opened, "out.txt") == File("out.txt", Content(b"none\n"), "grep x", truncated)


def test_an_empty_piece_of_a_bundle_is_the_output_of_its_command(tmp_path):
    """It was run, and printed nothing."""
    opened = bundle(tmp_path, {"path": "out.txt", "command": ["dmesg"]}, **{"out.txt": b""})

    assert file_of(opened, "out.txt") == File("out.txt", Content(b""), "dmesg")


def test_two_bundles_in_one_folder_keep_their_manifests_apart(tmp_path):
    """Each describes what lies beside it."""
    listed = {name: manifest({"path": "a", "command": [name]}) for name in ("p", "q")}
    files = {f"{name}/manifest.json": content for name, content in listed.items()} | {"p/a": b"1", "q/a": b"2"}

    opened = open_evidence([str(lay(tmp_path, files))])

    assert [(file.path, file.command) for file in opened.files] == [("p/a", "p"), ("q/a", "q")]


def test_what_even_root_may_not_read_is_no_matter_of_rights(tmp_path):
    """Nobody is told to become what he is."""
    entry = {"name": "v", "file": "/proc/v", "outcome": "no-permission"}
    content = {"schema": "diagnose.bundle/1", "uid": 0, "artifacts": [entry]}
    opened = open_evidence([str(lay(tmp_path, {"manifest.json": json.dumps(content).encode()}))])

    assert opened.unread == [Unread("/proc/v", "no-permission", "it is kept even from root here")]


def test_commands_of_one_program_that_fail_alike_are_told_once(tmp_path):
    """With the first of them, and how many more; another reason, or another program, stands for itself."""
    failed = {"outcome": "failed", "error": "no systemd here"}
    entries = [
        {"name": "a", "command": ["systemctl", "status", "one"], **failed},
        {"name": "b", "command": ["systemctl", "status", "two"], **failed},
        {"name": "c", "command": ["systemctl", "show"], "outcome": "failed", "error": "Bus error"},
        {"name": "d", "command": ["journalctl", "-k"], **failed},
    ]
    content = {"schema": "diagnose.bundle/1", "artifacts": entries}
    opened = open_evidence([str(lay(tmp_path, {"manifest.json": json.dumps(content).encode(), "x": b"x"}))])

    assert [(one.what, one.consequence) for one in opened.unread] == [
        ("systemctl status one (and 1 more of systemctl)", "no systemd here"),
        ("systemctl show", "Bus error"),
        ("journalctl -k", "no systemd here"),
    ]
