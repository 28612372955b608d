"""YAML as rules may use it, with the place of every key and value.

YAML itself is a trap: `0000:41:00.0` loads as a number, `off` as false, a repeated key wins silently. Here
only null, true, false and decimal integers are more than text; repeated keys, anchors, tags and several
documents in one file are refused. LibYAML's parser is used where PyYAML was built with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from kb.errors import Place, RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    _Parser: TypeAlias = Any
else:
    try:
        from yaml.cyaml import CParser as _Parser
    except ImportError:

        class _Parser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer):
            def __init__(self, text: str) -> None:
                yaml.reader.Reader.__init__(self, text)
                yaml.scanner.Scanner.__init__(self)
                yaml.parser.Parser.__init__(self)
                yaml.composer.Composer.__init__(self)


MAX_BYTES = 1_000_000
MAX_DEPTH = 30

_PLAIN, _QUOTED, _COLLECTION = "plain", "quoted", "collection"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_WORDS: dict[str, bool | None] = {"": None, "null": None, "~": None, "true": True, "false": False}


class _Composer(_Parser):  # type: ignore[misc]  # Any: which of the two parsers is known at run time
    """Nodes of one text. The tag of a node says how it was written; any other tag stands in the text."""

    def resolve(self, kind: type[Node], _value: str, implicit: Any) -> str:
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return _COLLECTION

    def descend_resolver(self, _node: Node, _index: Any) -> None:
        """Nothing depends on the path to a node."""

    def ascend_resolver(self) -> None:
        """Nothing depends on the path to a node."""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file: its plain value, and where everything in it stands."""

    path: str
    value: Any
    root: Node

    def place(self, *keys: str | int, key: bool = False) -> Place:
        """Where the value stands that these keys and indices lead to, or with `key` the last key itself.

        Where the keys lead further than the file, the deepest place that is there. An index into something
        that is no list is its place: one value may stand for a list of one.
        """
        node, mark = self.root, self.root.start_mark
        for step in keys:
            if isinstance(step, int):
                if isinstance(node, SequenceNode) and step < len(node.value):
                    node = node.value[step]
                mark = node.start_mark
                continue
            pairs = node.value if isinstance(node, MappingNode) else []
            found = next((pair for pair in pairs if pair[0].value == step), None)
            if found is None:
                break
            mark = found[0 if key else 1].start_mark
            node = found[1]
        return Place(self.path, mark.line + 1, mark.column + 1)


def read_yaml(text: str, path: str) -> tuple[Document | None, list[RuleError]]:
    """The document of a text, if it is YAML at all, and everything in it that rules may not use.

    A repeated key is reported and its first value kept, so that the rest can be checked too.
    """
    try:
        root = _Composer(text).get_single_node()
    except yaml.YAMLError as error:
        return None, [_syntax_error(error, path)]
    except RecursionError:
        return None, [_too_deep(Place(path, 1))]
    if root is None:
        return None, [RuleError(Place(path, 1), "the file is empty; expected a rule")]
    reader = _Values(path)
    value = reader.value(root, 0)
    return Document(path, value, root), reader.errors


def _syntax_error(error: yaml.YAMLError, path: str) -> RuleError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path, 1)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be parsed"
    context = getattr(error, "context", None)
    return RuleError(place, f"not valid YAML: {problem}{f' ({context})' if context else ''}")


def _too_deep(place: Place) -> RuleError:
    return RuleError(place, f"nested more than {MAX_DEPTH} deep; no rule needs that")


class _Values:
    """Turns nodes into plain values and gathers what is wrong on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.errors: list[RuleError] = []
        self._seen: set[int] = set()
        self._by_kind: dict[type[Node], Callable[[Any, int], Any]] = {
            ScalarNode: self._scalar,
            MappingNode: self._mapping,
            SequenceNode: self._sequence,
        }

    def value(self, node: Node, depth: int) -> Any:
        if id(node) in self._seen:
            self._refuse(node, "anchors and aliases (`&x`, `*x`) are not accepted; write the value again")
            return node.value if isinstance(node, ScalarNode) else None
        self._seen.add(id(node))
        return self._by_kind[type(node)](node, depth)

    def _scalar(self, node: ScalarNode, _depth: int) -> Any:
        text = node.value
        if node.tag == _PLAIN:
            if text in _WORDS:
                return _WORDS[text]
            return int(text) if _INTEGER.fullmatch(text) else text
        if node.tag == _QUOTED:
            return text
        self._refuse(node, f"the tag `{node.tag}` is not accepted; a text in quotes is enough")
        return text

    def _sequence(self, node: SequenceNode, depth: int) -> Any:
        if not self._acceptable(node, depth):
            return None
        return [self.value(item, depth + 1) for item in node.value]

    def _mapping(self, node: MappingNode, depth: int) -> Any:
        if not self._acceptable(node, depth):
            return None
        found: dict[str, Any] = {}
        first: dict[str, Node] = {}
        for key, item in node.value:
            if not isinstance(key, ScalarNode) or key.tag not in {_PLAIN, _QUOTED}:
                self._refuse(key, "expected a plain word as key")
            elif key.value in found:
                line = first[key.value].start_mark.line + 1
                self._refuse(key, f"the key `{key.value}` is repeated; it stands in line {line} already")
            else:
                found[key.value] = self.value(item, depth + 1)
                first[key.value] = key
        return found

    def _acceptable(self, node: Node, depth: int) -> bool:
        if node.tag != _COLLECTION:
            self._refuse(node, f"the tag `{node.tag}` is not accepted")
        elif depth >= MAX_DEPTH:
            self.errors.append(_too_deep(self._place(node)))
        else:
            return True
        return False

    def _refuse(self, node: Node, message: str) -> None:
        self.errors.append(RuleError(self._place(node), message))

    def _place(self, node: Node) -> Place:
        return Place(self.path, node.start_mark.line + 1, node.start_mark.column + 1)
