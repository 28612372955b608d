"""Secrets are taken out of whatever is written, and nothing that is evidence with them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from live_support import Tools, entries, manifest, plant

from collectors.live import Source, collect
from collectors.live.scrub import FORMS, Scrubber, scrubbed
from collectors.live.source import Command, File, Files

if TYPE_CHECKING:
    from pathlib import Path

# Put together here, so that no tool that searches repositories takes them for real ones.
S = "S3cr3tValue0f1Thing2"
HELD = {
    "hugging face": (f"login with hf_{S}{S} done", "login with REDACTED-hugging-face-token done"),
    "github": (f"remote gh{'p'}_{S}{S}", "remote REDACTED-github-token"),
    "github, fine-grained": (f"x github_pat_{S}_{S} y", "x REDACTED-github-token y"),
    "aws key id": (f"id AKIA{'A1B2' * 4}, region", "id REDACTED-aws-key, region"),
    "aws secret": (f"aws_secret_access_key = {S}/+a", "aws_secret_access_key = REDACTED-assignment"),
    "openai": (f"using sk-proj-{S}", "using REDACTED-api-key"),
    "slack": (f"xox{'b'}-123456789012-{S}", "REDACTED-slack-token"),
    "slack hook": (f"POST https://hooks.slack.com/services/T0/B0/{S}", None),
    "ngc": (f"docker login -p nvapi-{S}{S}", "docker login -p REDACTED-ngc-key"),
    "wandb": (f"wandb login {'0123456789' * 4}", "wandb login REDACTED-wandb-key"),
    "wandb variable": (f"WANDB_API_KEY={'0123456789' * 4}", "WANDB_API_KEY=REDACTED-assignment"),
    "jwt": (f"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.{S} end", "jwt REDACTED-jwt end"),
    "google": (f"AIza{'Sy' * 18}x", "REDACTED-google-key"),
    "option": (f"vllm serve m --api-key {S} --port 8000", "vllm serve m --api-key REDACTED-option --port 8000"),
    "option with =": (f"serve --hf-token={S} -tp 8", "serve --hf-token=REDACTED-option -tp 8"),
    "short option value": ("serve --api-key abc", "serve --api-key REDACTED-option"),
    "kubeadm": (f"kubeadm join 10.0.0.1:6443 --token {S}", "kubeadm join 10.0.0.1:6443 --token REDACTED-option"),
    "printed arguments": (f"Namespace(api_key='{S} x', tp=8)", "Namespace(api_key='REDACTED-assignment', tp=8)"),
    "printed list": (
        f"args: {{'api_key': ['{S}'], 'tp': 8}}",
        "args: {'api_key': ['REDACTED-assignment'], 'tp': 8}",
    ),
    "json": (f'{{"password": "{S}", "n": 1}}', '{"password": "REDACTED-assignment", "n": 1}'),
    "json in json": (f'"{{\\"password\\": \\"{S}\\"}}"', None),
    "yaml": (f"  db_password: {S}", "  db_password: REDACTED-assignment"),
    "variable": (f"MY_SERVICE_TOKEN={S}", "MY_SERVICE_TOKEN=REDACTED-assignment"),
    "any case": (f"PassWord={S}", "PassWord=REDACTED-assignment"),
    "bearer": (f"curl -H 'Authorization: Bearer {S}'", "curl -H 'Authorization: Bearer REDACTED-bearer'"),
    "basic": (f"Authorization: Basic {S}=", "Authorization: Basic REDACTED-authorization"),
    "cookie": (f"Set-Cookie: id={S}; Path=/", "Set-Cookie: REDACTED-cookie"),
    "curl user": (f"curl -s -u ada:{S} https://a", "curl -s -u REDACTED-option https://a"),
    "proxy": (f"http://ada:{S}@proxy:3128/x", "http://REDACTED-url-credentials@proxy:3128/x"),
    "git remote": (f"https://{S}@git.example.org/x", "https://REDACTED-url-credentials@git.example.org/x"),
    "signed url": (f"GET /b?X-Amz-Date=1&X-Amz-Signature={S}&x=1", None),
    "key on one line": (f"-----BEGIN RSA PRIVATE KEY-----\\n{S}\\n-----END RSA PRIVATE KEY-----", None),
}
KEPT = {
    "lengths": "max_tokens=4096, num_tokens: 17, tokenizer='meta/llama', max_num_batched_tokens=8192",
    "special tokens": "eos_token: <|endoftext|>, bos_token_id=128000, pad_token='<pad>', token=' the'",
    "arguments without": "Namespace(api_key=None, hf_token=None, ssl_keyfile=None, password='')",
    "references": 'api_key="$OPENAI_API_KEY" --token ${HF_TOKEN} password={{ vault }}',
    "a missing token": "HF_TOKEN is not set; no hf_transfer; see sk-learn docs at task-scheduler-worker-pool",
    "options that follow": "serve --api-key --port 8000",
    "rates": "Avg generation throughput: 812.4 tokens/s, token usage: 0.83",
    "a remote": "ssh://git@github.com/x/y and user@host:~$ and pci@0000:41:00.0",
    "a commit": "vllm commit 0123456789abcdef0123456789abcdef01234567",
    "a package": "ii  gir1.2-secret-1:amd64   0.20.5-2  amd64  Secret store",
    "nsswitch": "passwd:         files systemd",
    "numbers": "  secret: 3   KEY: 17   api_key_count=4",
}


@pytest.mark.parametrize("name", HELD)
def test_a_secret_is_replaced_and_the_rest_of_the_line_stays(name: str) -> None:
    """The value goes, its name stays, so that one still sees that it was set."""
    line, expected = HELD[name]
    counts: dict[str, int] = {}

    found = scrubbed(line.encode(), counts).decode()

    assert S not in found
    assert expected in {None, found}
    assert sum(counts.values()) >= 1


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_secret_stays(name: str) -> None:
    """Evidence is full of tokens, keys and numbers that are none."""
    counts: dict[str, int] = {}

    assert KEPT[name].encode() == scrubbed(KEPT[name].encode(), counts)
    assert counts == {}


@pytest.mark.parametrize("name", HELD)
def test_scrubbing_again_changes_nothing(name: str) -> None:
    """A mark is not taken for a secret, and counts once."""
    once = scrubbed(HELD[name][0].encode())
    counts: dict[str, int] = {}

    assert once == scrubbed(once, counts)
    assert counts == {}


def test_every_form_has_a_hint_that_its_secrets_hold() -> None:
    """Without its hint a form would never be tried; each is lower case, as the text that is searched."""
    assert all(hint == hint.lower() for form in FORMS for hint in form.hints)
    assert all(form.hints for form in FORMS)


def test_a_private_key_goes_line_by_line() -> None:
    """As many lines as before; what follows its end stays; one without an end takes no more than a key has."""
    key = [b"-----BEGIN OPENSSH PRIVATE KEY-----", *[b"b3BlbnNzaC1rZXktdjE" * 3] * 5]
    ended = [*key, b"-----END OPENSSH PRIVATE KEY-----", b"libcuda.so.570.86.15.is.a.long.line"]
    stays = b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

    text = scrub_stream(b"\n".join(ended), 7)

    assert text.split(b"\n") == [key[0], *[b"REDACTED-private-key"] * 5, *ended[-2:]]
    assert scrub_stream(b"\n".join([*key, *[b""] * 400, stays]), 7).endswith(stays)


@pytest.mark.parametrize("size", [1, 2, 13, 64, 4096])
def test_a_secret_that_comes_in_pieces_is_seen(size: int) -> None:
    """Whatever the chunks, the stream is as if it had come at once."""
    text = "\n".join([*(line for line, _ in HELD.values()), *KEPT.values()]).encode()

    assert scrub_stream(text, size) == scrubbed(text)


def test_a_line_without_an_end_is_given_out_in_time() -> None:
    """A flood without line ends is not held in memory, and comes out whole."""
    scrubber = Scrubber()
    chunk = b"\0" * 65536

    given = b"".join(scrubber.feed(chunk) for _ in range(64))

    assert len(given) > 2 * 1024 * 1024
    assert given + scrubber.end() == chunk * 64


def scrub_stream(text: bytes, size: int) -> bytes:
    scrubber = Scrubber()
    pieces = [scrubber.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join([*pieces, scrubber.end()])


def test_no_byte_of_a_bundle_holds_a_secret(tmp_path: Path, tools: Tools) -> None:
    """Output, standard error, errors, files, unpacked files, the manifest: how many is told, never what."""
    tools.add("prints", f"echo x; echo password={S}; printf 'token hf_{S}{S}' >&2; exit 1")
    root = plant(tmp_path / "root", {"/a.conf": f"api_key={S}\n", f"/b-hf_{S}{S}": "x\n"})
    (root / "old.log.gz").write_bytes(gzip.compress(f"Commandline: curl -u a:{S} x\nlast\n".encode()))

    out = collect(
        tmp_path / "out",
        version="1",
        root=root,
        commands=True,
        sources=[
            Source("command", Command(("prints", f"--token={S}"))),
            Source("conf", File("/a.conf")),
            Source("named", Files(("/b-*",))),
            Source("old", Files(("/old.log.gz",))),
        ],
    )

    files = [path for path in out.rglob("*") if path.is_file()]
    held = b"".join(str(path).encode() + path.read_bytes() for path in files)
    assert S.encode() not in held
    assert manifest(out)["secrets"] == {"assignment": 2, "hugging-face-token": 1, "option": 1}
    assert (out / "files/old.log").read_bytes() == b"Commandline: curl -u REDACTED-option x\nlast\n"
    assert entries(out)["command"]["error"] == "token REDACTED-hugging-face-token"
