"""Loading rule files: what they hold, where everything stands, and RuleErrors for whatever is wrong."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import strict_yaml
from kb.errors import InputError, RuleErrors
from kb.load import load_rules, parse_rules, read_rules, shipped_rules
from kb.rule import Cause, Ref, RuleBase
from kb.strict_yaml import read_yaml

GOOD = Path(__file__).parent.parent / "rules" / "good"
MISMATCH = GOOD / "causes/driver/userspace-kernel-mismatch.yaml"


def errors_of(text: str) -> list[str]:
    """The faults in the text of one rule file."""
    return [str(error) for error in parse_rules(text, "x.yaml").errors]


def test_a_directory_holds_causes_symptoms_and_probes() -> None:
    """Everything is found by its id, with the file that it came from."""
    base = load_rules(GOOD)

    assert sorted(base.causes) == ["driver.userspace-kernel-mismatch", "p2p.iommu-corruption", "state.healthy"]
    assert sorted(base.symptoms) == ["copy-wrong", "nvml-fails"]
    assert sorted(base.probes) == ["driver-versions", "iommu-groups", "nvidia-smi"]
    assert base.files["p2p.iommu-corruption"] == str(GOOD / "causes/p2p/iommu-corruption.yaml")


def test_one_file_is_enough() -> None:
    """A single rule file is a rule base."""
    assert list(load_rules(MISMATCH).causes) == ["driver.userspace-kernel-mismatch"]


def test_a_cause_is_read_whole() -> None:
    """Patterns, references, alternatives, single values that stand for lists."""
    cause = load_rules(GOOD).causes["driver.userspace-kernel-mismatch"]

    (module,) = cause.requires
    assert [(test.field, test.op, test.values) for test in module.tests] == [
        ("name", "is", ("nvidia",)),
        ("loaded", "is", (True,)),
        ("version", "known", (True,)),
    ]
    differs, says_so = cause.for_
    ((library,),) = differs.when
    assert library.tests[0].values == ("libcuda.so.1", "libnvidia-ml.so.1")
    assert library.tests[1].values == (Ref(binding="module", field="version"),)
    assert (says_so.name, says_so.weight, says_so.otherwise) == ("nvml-says-so", "strong", None)
    assert cause.against[0].unless[0].fact == "nvml_error"
    assert cause.remedies[0].run == ("systemctl reboot",)
    assert cause.kind == "fault"


def test_the_shipped_rules_are_found() -> None:
    """They lie in a directory of their own, whatever the working directory."""
    assert (shipped_rules() / "causes").is_dir()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0000:41:00.0", "0000:41:00.0"),
        ("550.54", "550.54"),
        ("off", "off"),
        ("yes", "yes"),
        ("True", "True"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("2026-01-02", "2026-01-02"),
        ("<<", "<<"),
        ('"12"', "12"),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("9" * 30, "9" * 30),
    ],
)
def test_only_null_true_false_and_integers_are_more_than_text(written: str, value: object) -> None:
    """What YAML would turn into numbers, dates and flags stays as it is written."""
    document, errors = read_yaml(f"key: {written}\n", "x.yaml")

    assert not errors
    assert document is not None
    assert document.value == {"key": value}
    assert type(document.value["key"]) is type(value)


def test_places_are_those_of_keys_and_values() -> None:
    """Lines and columns count from 1, of a key or of its value, of an item, of one value in place of a list."""
    document, _ = read_yaml("a:\n  b: [x, yy]\n  c: z\n", "f.yaml")

    assert document is not None
    assert str(document.place()) == "f.yaml:1:1"
    assert str(document.place("a", "b", key=True)) == "f.yaml:2:3"
    assert str(document.place("a", "b", 1)) == "f.yaml:2:10"
    assert str(document.place("a", "c", 0)) == "f.yaml:3:6"
    assert str(document.place("a", "nothing")) == "f.yaml:2:3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.yaml:1:1: the file is empty; expected a rule"),
        ("# only a remark\n", "x.yaml:1:1: the file is empty; expected a rule"),
        ("hello", "x.yaml:1:1: expected `cause: …`, `symptom: …` or a list of probes, found `hello`"),
        ("a: 1", "x.yaml:1:1: expected `cause: …`, `symptom: …` or a list of probes"),
        ("- 3", "x.yaml:1:3: expected a mapping `key: value`, found the number 3"),
        ("cause: [", "x.yaml:2:1: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2:1: not valid YAML"),
        ("a: *b", "x.yaml:1:4: not valid YAML"),
        ("a: &b [*b]", "x.yaml:1:4: anchors and aliases"),
        ("? [a]\n: 1", "x.yaml:1:3: expected a plain word as key"),
        ("a: !!python/object:os.system x", "x.yaml:1:4: the tag"),
        ("a: !!map {b: 1}", "x.yaml:1:4: the tag"),
        ("a: \x00", "x.yaml:1:1: not valid YAML"),
        ("[" * 40 + "]" * 40, "x.yaml:1:31: nested more than 30 deep"),
        ("[" * 100_000, "not valid YAML"),
        ("- " * 100_000, "not valid YAML"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_no_rule_is_said_in_one_line(text: str, expected: str) -> None:
    """Strange files give a message, never a traceback."""
    assert any(expected in error for error in errors_of(text))
    assert all("\n" not in error for error in errors_of(text))


def test_laughs_are_few() -> None:
    """Aliases that would multiply are refused at the first repetition."""
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    started = time.perf_counter()

    assert any("anchors and aliases" in error for error in errors_of("\n".join(lines)))
    assert time.perf_counter() - started < 1


def test_errors_come_all_at_once_in_order(tmp_path: Path) -> None:
    """One exception holds the faults of all files, sorted by place, one a line."""
    (tmp_path / "symptoms").mkdir()
    (tmp_path / "symptoms/b.yaml").write_text("symptom: b\ntitle: 3\nsays: x\nwhen: y\n")
    (tmp_path / "symptoms/a.yaml").write_text("[")

    with pytest.raises(RuleErrors) as caught:
        load_rules(tmp_path)

    places = [(Path(one.place.path).name, one.place.line, one.place.column) for one in caught.value.errors]
    assert places == [("a.yaml", 2, 1), ("b.yaml", 2, 8), ("b.yaml", 4, 7)]
    assert str(caught.value).count("\n") == 2


def test_a_rule_given_twice_is_read_once() -> None:
    """A file that is reached by two paths is no repetition."""
    assert len(load_rules(GOOD, MISMATCH).causes) == 3


def test_one_id_in_two_files_is_refused(tmp_path: Path) -> None:
    """Both places are named."""
    copy = tmp_path / "userspace-kernel-mismatch.yaml"
    copy.write_bytes(MISMATCH.read_bytes())

    with pytest.raises(RuleErrors, match=f"{copy}:1:8: .* is defined already: {MISMATCH}:1:8"):
        load_rules(GOOD, copy)


def test_rules_beside_give_way(tmp_path: Path) -> None:
    """A draft stands in for the rule of the same id that it is going to replace."""
    draft = tmp_path / "userspace-kernel-mismatch.yaml"
    draft.write_text(MISMATCH.read_text().replace("title: The user", "title: A draft. The user"))

    loaded = read_rules(draft, beside=[GOOD])

    assert not loaded.errors
    assert len(loaded.base.causes) == 3
    assert loaded.base.causes["driver.userspace-kernel-mismatch"].title.startswith("A draft.")


def test_what_is_not_there_is_a_users_error(tmp_path: Path) -> None:
    """A missing path, and a directory without rules."""
    with pytest.raises(InputError, match="no such rule file or directory"):
        load_rules(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no rules here; expected symptoms/NAME"):
        load_rules(tmp_path)


def test_a_file_that_would_not_be_read_is_pointed_out(tmp_path: Path) -> None:
    """A rule one folder too high, and one with the other ending, would be silently missing."""
    (tmp_path / "causes/driver").mkdir(parents=True)
    for name in ("causes/a.yaml", "causes/driver/b.yml"):
        (tmp_path / name).write_bytes(MISMATCH.read_bytes())

    with pytest.raises(RuleErrors) as caught:
        load_rules(tmp_path)
    assert ["not read here" in error.message for error in caught.value.errors] == [True, True]


def test_text_that_is_not_utf_8_is_refused_at_its_line(tmp_path: Path) -> None:
    """The line counts."""
    file = tmp_path / "x.yaml"
    file.write_bytes(b"cause: a\ntitle: \xff\n")

    with pytest.raises(RuleErrors, match=f"{file}:2:1: expected UTF-8 text"):
        load_rules(file)


def test_what_could_not_be_read_is_known_by_name() -> None:
    """So that others are not blamed for naming it."""
    assert "x.y" in parse_rules("cause: x.y\n").unread
    assert "p2p.broken" in parse_rules("[", "rules/causes/p2p/broken.yaml").unread


@given(st.text())
def test_any_text_gives_rules_or_rule_errors(text: str) -> None:
    """Nothing else is ever raised."""
    loaded = parse_rules(text, "x.yaml")

    assert loaded.errors or isinstance(loaded.base, RuleBase)


YAML_ISH = st.recursive(
    st.sampled_from(["a", "$a.b", "3", "true", "null", "''", "!!int 3", "&a x", "*a", "{", "}", "- x", "|"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(
            st.sampled_from([
                *Cause.model_fields, "for", "when", "weight", "says", "symptom", "id", "gpu", "name", "known", "0"
            ]),
            inner,
            max_size=5,
        ).map(lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"),
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    YAML_ISH,
    st.sampled_from(["", "cause: a.b\nrequires: ", "symptom: a\nwhen: ", "- id: a\n  run: ", "cause: a.b\nfor: "]),
)
def test_anything_like_a_rule_gives_rules_or_rule_errors(text: str, before: str) -> None:
    """Nothing else is ever raised, whatever stands where."""
    loaded = parse_rules(before + text, "x.yaml")

    assert loaded.errors or isinstance(loaded.base, RuleBase)
    assert all(error.place.line >= 1 and error.place.column >= 1 for error in loaded.errors)


def test_without_libyaml_all_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may have been built without it; only the speed differs."""
    monkeypatch.setitem(sys.modules, "yaml.cyaml", None)
    spec = importlib.util.spec_from_file_location("strict_yaml_without_libyaml", strict_yaml.__file__)
    assert spec is not None
    assert spec.loader is not None
    slow = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, slow)
    spec.loader.exec_module(slow)
    text = MISMATCH.read_text(encoding="utf-8")

    document, errors = slow.read_yaml(text, "x.yaml")
    expected, _ = read_yaml(text, "x.yaml")

    assert slow._Parser.__module__ == spec.name
    assert not errors
    assert expected is not None
    assert document.value == expected.value
    assert document.place("remedies", 1, "undo", 0) == expected.place("remedies", 1, "undo", 0)
    assert "nested" in str(slow.read_yaml("[" * 5000, "x.yaml")[1][0])


def test_loading_is_fast() -> None:
    """Start-up reads a hundred files: under a millisecond for each of 80 lines, here with much to spare."""
    text = MISMATCH.read_text(encoding="utf-8")
    best = min(_seconds(text) for _ in range(20))

    assert best / text.count("\n") * 80 < 0.004


def _seconds(text: str) -> float:
    started = time.perf_counter()
    parse_rules(text)
    return time.perf_counter() - started
