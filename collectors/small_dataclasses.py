"""As much of `dataclasses` as the collector needs, for Python 3.6, which has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Field:
    """What `field` says of one field."""

    def __init__(self, default: object, default_factory: Any, init: bool) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init


def field(*, default: Any = _MISSING, default_factory: Any = None, init: bool = True) -> Any:
    """A field with a default that is made anew for each object, or one that is no argument."""
    return Field(default, default_factory, init)


def dataclass(cls: Any = None, *, frozen: bool = False) -> Any:
    """The class with the methods of a data class; `frozen` refuses to set a field."""

    def made(cls: Any) -> Any:
        inherited = getattr(cls, "__fields__", {})
        cls.__fields__ = {**inherited, **_own_fields(cls)}
        cls.__init__ = _initialise
        cls.__repr__ = _represent
        cls.__eq__ = _equal
        cls.__hash__ = _hash if frozen else None
        if frozen:
            cls.__setattr__ = _refuse
            cls.__delattr__ = _refuse
        return cls

    return made if cls is None else made(cls)


def fields_of(thing: Any) -> dict[str, Any]:
    """The fields of an object and their values."""
    return {name: getattr(thing, name) for name in thing.__fields__}


def asdict(thing: Any) -> dict[str, Any]:
    """The object as a dictionary, the objects, lists and dictionaries in it as well."""
    return {name: _plain(value) for name, value in fields_of(thing).items()}


def replace(thing: Any, **changes: Any) -> Any:
    """A copy with other values in some fields."""
    given = {name: getattr(thing, name) for name, one in thing.__fields__.items() if one.init}
    return type(thing)(**{**given, **changes})


def _plain(value: Any) -> Any:
    if hasattr(type(value), "__fields__"):
        return asdict(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _own_fields(cls: Any) -> dict[str, Field]:
    """The annotated names of the class, in order."""
    found = {}
    for name in cls.__dict__.get("__annotations__", {}):  # noqa: RUF063 - the oldest Python has nothing else
        default = cls.__dict__.get(name, _MISSING)
        found[name] = default if isinstance(default, Field) else Field(default, None, init=True)
        if isinstance(default, Field):
            delattr(cls, name)
    return found


def _initialise(self: Any, *given: Any, **named: Any) -> None:
    names = [name for name, one in self.__fields__.items() if one.init]
    if len(given) > len(names) or not set(named) <= set(names[len(given) :]):
        raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
    values = {**dict(zip(names, given)), **named}  # noqa: B905 - the oldest Python has no strict
    for name, one in self.__fields__.items():
        if name in values:
            value = values[name]
        elif one.default_factory is not None:
            value = one.default_factory()
        elif one.default is not _MISSING:
            value = one.default
        elif one.init:
            raise TypeError(f"{type(self).__name__} needs {name}")
        else:
            continue
        object.__setattr__(self, name, value)
    after: Callable[[], None] | None = getattr(self, "__post_init__", None)
    if after is not None:
        after()


def _represent(self: Any) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in fields_of(self).items())
    return f"{type(self).__name__}({shown})"


def _equal(self: Any, other: object) -> bool:
    return type(self) is type(other) and fields_of(self) == fields_of(other)


def _hash(self: Any) -> int:
    return hash(tuple(fields_of(self).values()))


def _refuse(self: Any, name: str, *_value: object) -> None:
    raise AttributeError(f"cannot set {name}: {type(self).__name__} is frozen")
