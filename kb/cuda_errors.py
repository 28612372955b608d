"""The catalogue of errors of CUDA and NVML: what each means, and what it most often comes from.

`catalogues/cuda_errors.csv`: `api` is cuda or nvml; `class` is the word of the facts CudaError and NvmlError;
`code` and `name` are those of driver_types.h (CUDA 12.9) and nvml.h, empty for what a framework says in its own
words. `causes` are ids of the vocabulary, the likeliest first, and `test` the probe that tells most; `causes` is
empty and `test` general where the error alone says little.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, TypeAlias, cast

from kb.catalogues import rows

Api: TypeAlias = Literal["cuda", "nvml"]


class ErrorRow(NamedTuple):
    """One kind of error."""

    api: Api
    code: int | None
    class_: str
    name: str
    means: str
    causes: tuple[str, ...]
    test: str


@cache
def error_rows() -> tuple[ErrorRow, ...]:
    """All rows, in the order of the file."""
    return tuple(
        ErrorRow(
            api=cast("Api", row["api"]),
            code=int(row["code"]) if row["code"] else None,
            class_=row["class"],
            name=row["name"],
            means=row["means"],
            causes=tuple(row["causes"].split()),
            test=row["test"],
        )
        for row in rows("cuda_errors.csv")
    )


def error_row(api: Api, class_: str) -> ErrorRow | None:
    """The row of a kind of error; None for one that is in no row."""
    return next((row for row in error_rows() if (row.api, row.class_) == (api, class_)), None)
