"""The errors of the CUDA runtime and driver APIs: number, name, text, and what they mean. No reader.

Numbers and texts are those of driver_types.h and cuda.h of CUDA 8 to 13; before 10.1 the runtime had numbers of
its own for some (30, 38, 77).
"""

from __future__ import annotations

from typing import NamedTuple

from collectors.readers._regex import regex
from kb.facts.environment import CudaErrorClass


class Code(NamedTuple):
    """One error: number, meaning, beginning of its text, and a part of its names without case and underscores."""

    number: int
    class_: CudaErrorClass
    text: str
    name: str


CODES: tuple[Code, ...] = (
    Code(1, "invalid-value", "invalid argument", "invalidvalue"),
    Code(2, "out-of-memory", "out of memory", "memoryallocation"),
    Code(2, "out-of-memory", "out of memory", "outofmemory"),
    Code(3, "initialization", "initialization error", "initializationerror"),
    Code(3, "initialization", "initialization error", "notinitialized"),
    Code(34, "stub-library", "CUDA driver is a stub library", "stublibrary"),
    Code(35, "driver-too-old", "CUDA driver version is insufficient", "insufficientdriver"),
    Code(36, "not-supported-by-driver", "API call is not supported in", "callrequiresnewerdriver"),
    Code(46, "busy", "all CUDA-capable devices are busy", "devicesunavailable"),
    Code(46, "busy", "CUDA-capable device(s) is/are busy", "deviceunavailable"),
    Code(98, "invalid-device-function", "invalid device function", "invaliddevicefunction"),
    Code(100, "no-device", "no CUDA-capable device is detected", "nodevice"),
    Code(101, "invalid-device", "invalid device ordinal", "invaliddevice"),
    Code(200, "invalid-kernel-image", "device kernel image is invalid", "invalidkernelimage"),
    Code(200, "invalid-kernel-image", "device kernel image is invalid", "invalidimage"),
    Code(209, "no-kernel-image", "no kernel image is available", "nokernelimage"),
    Code(209, "no-kernel-image", "no kernel image is available", "nobinaryforgpu"),
    Code(214, "ecc-uncorrectable", "uncorrectable ECC error encountered", "eccuncorrectable"),
    Code(217, "peer-unsupported", "peer access is not supported", "peeraccessunsupported"),
    Code(218, "invalid-ptx", "a PTX JIT compilation failed", "invalidptx"),
    Code(220, "nvlink-uncorrectable", "uncorrectable NVLink error", "nvlinkuncorrectable"),
    Code(221, "jit-compiler-not-found", "PTX JIT compiler library not found", "jitcompilernotfound"),
    Code(222, "unsupported-ptx", "the provided PTX was compiled", "unsupportedptxversion"),
    Code(304, "os-call-failed", "OS call failed", "operatingsystem"),
    Code(500, "symbol-not-found", "named symbol not found", "symbolnotfound"),
    Code(500, "symbol-not-found", "named symbol not found", "notfound"),
    Code(700, "illegal-address", "an illegal memory access was encountered", "illegaladdress"),
    Code(701, "launch-resources", "too many resources requested for launch", "launchoutofresources"),
    Code(702, "launch-timeout", "the launch timed out and was terminated", "launchtimeout"),
    Code(704, "peer-access", "peer access is already enabled", "peeraccessalreadyenabled"),
    Code(705, "peer-access", "peer access has not been enabled", "peeraccessnotenabled"),
    Code(710, "assert", "device-side assert triggered", "assert"),
    Code(711, "too-many-peers", "peer mapping resources exhausted", "toomanypeers"),
    Code(714, "hardware", "hardware stack error", "hardwarestackerror"),
    Code(715, "illegal-instruction", "an illegal instruction was encountered", "illegalinstruction"),
    Code(716, "misaligned-address", "misaligned address", "misalignedaddress"),
    Code(719, "launch-failed", "unspecified launch failure", "launchfail"),
    Code(800, "not-permitted", "operation not permitted", "notpermitted"),
    Code(801, "not-supported", "operation not supported", "notsupported"),
    Code(802, "not-ready", "system not yet initialized", "systemnotready"),
    Code(803, "driver-mismatch", "system has unsupported display", "systemdrivermismatch"),
    Code(804, "compat-not-supported", "forward compatibility was", "compatnotsupportedondevice"),
    Code(805, "mps", "MPS client failed to connect", "mpsconnectionfailed"),
    Code(806, "mps", "the remote procedural call", "mpsrpcfailure"),
    Code(807, "mps", "MPS server is not ready", "mpsservernotready"),
    Code(911, "external-device", "an async error has occured in", "externaldevice"),
    Code(999, "unknown", "unknown error", "unknown"),
)
_OLD_NUMBERS = {30: 999, 38: 100, 10: 101, 8: 98, 48: 209, 77: 700, 59: 710, 4: 719, 11: 1, 71: 801, 74: 716}
_BY_NUMBER = {code.number: code for code in reversed(CODES)}
_PLAIN = regex(r"[^a-z]")


def by_number(number: int) -> Code | None:
    """The error of a number, those of before CUDA 10.1 included."""
    return _BY_NUMBER.get(number) or _BY_NUMBER.get(_OLD_NUMBERS.get(number, -1))


def by_text(text: str) -> Code | None:
    """The error whose text this begins with, with or without the word CUDA before it."""
    plain = text.strip().lower()
    texts = plain, plain.removeprefix("cuda ")
    return next((code for said in texts for code in CODES if said.startswith(code.text.lower())), None)


def by_name(name: str) -> Code | None:
    """The error of a name such as cudaErrorNoDevice or CUDA_ERROR_NO_DEVICE."""
    plain = _PLAIN.sub("", name.lower()).removeprefix("cudaerror")
    exact = next((code for code in CODES if plain == code.name), None)
    return exact or next((code for code in CODES if plain.startswith(code.name)), None)
