"""The catalogue of CUDA's and NVML's errors has a row for each word of the facts, and names what there is."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import get_args

import pytest

from collectors.readers._cuda_codes import CODES
from kb.cuda_errors import error_row, error_rows
from kb.facts.driver import NvmlError
from kb.facts.environment import CudaErrorClass
from kb.load import load_rules, shipped_rules
from kb.vocabulary import vocabulary


def test_every_kind_of_error_has_one_row():
    """So that an error nobody wrote a rule for still says something."""
    problems = get_args(NvmlError.model_fields["problem"].annotation)

    assert sorted(row.class_ for row in error_rows() if row.api == "cuda") == sorted(get_args(CudaErrorClass))
    assert sorted(row.class_ for row in error_rows() if row.api == "nvml") == sorted(problems)


def test_numbers_are_those_of_the_reader():
    """Two tables of the same numbers must not drift apart."""
    read = {(code.number, code.class_) for code in CODES}

    assert [
        row for row in error_rows() if row.api == "cuda" and row.code and (row.code, row.class_) not in read
    ] == []


def test_numbers_of_nvml_are_its_own():
    """As its binding has them."""
    pynvml = pytest.importorskip("pynvml")

    assert [row for row in error_rows() if row.api == "nvml" and getattr(pynvml, row.name) != row.code] == []


def test_rows_name_causes_and_tests_that_there_are():
    """A typing error would lead nowhere."""
    probes = load_rules(shipped_rules()).probes

    assert {cause for row in error_rows() for cause in row.causes} <= set(vocabulary())
    assert {row.test for row in error_rows()} <= set(probes)


def test_rows_say_what_they_mean_and_where_from():
    """Else nobody could check them."""
    with files("kb.catalogues").joinpath("cuda_errors.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))

    assert {row["source"] for row in rows} <= {"driver_types.h", "nvml.h", "messages of PyTorch"}
    assert all(len(row["date"]) == 10 for row in rows)
    assert all(row["means"].endswith(".") and len(row["means"]) < 140 for row in rows)


def test_an_error_by_its_kind():
    """The row, or nothing."""
    row = error_row("cuda", "not-ready")

    assert row is not None
    assert (row.code, row.name, row.causes[0]) == (802, "cudaErrorSystemNotReady", "platform.fabric-manager-down")
    assert error_row("nvml", "not-ready") is None
