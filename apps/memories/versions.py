"""Stored documents and exports, brought up to date step by step. Pure.

Every document has a ``schema_version``; one without is of version 0. A step turns one version into the next, on a
copy. No step is ever taken out of here, and none may remove anything: what a newer version no longer uses stays.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

Document = dict[str, Any]
Step = Callable[[Document], Document]


class TooNew(ValueError):
    """A document of a version that this Loci doesn't know."""


class StepRemoves(AssertionError):
    """A step took something away."""


def _unchanged(document: Document) -> Document:
    """Version 0 had no ``schema_version``, and is otherwise the same."""
    return document


STEPS: Mapping[str, tuple[Step, ...]] = {
    "memory_settings": (_unchanged,),
    "digest": (_unchanged,),
    "model_test": (_unchanged,),
    "memory_export": (_unchanged,),
}


def current_version(kind: str) -> int:
    return len(STEPS[kind])


def versioned(kind: str, document: Mapping[str, Any]) -> Document:
    """The document as it is stored: with the current version."""
    return {"schema_version": current_version(kind), **document}


def upgraded(kind: str, document: Mapping[str, Any]) -> Document:
    """A copy of the document at the current version. Raises TooNew, StepRemoves."""
    version = _version_of(document)
    if version > current_version(kind):
        raise TooNew(f"This document is of version {version}; versions up to {current_version(kind)} can be read.")
    newer = deepcopy(dict(document))
    for step in STEPS[kind][version:]:
        before = deepcopy(newer)
        newer = step(newer)
        _check_kept(before, newer, kind)
    return newer | {"schema_version": current_version(kind)}


def _version_of(document: Mapping[str, Any]) -> int:
    version = document.get("schema_version", 0)
    return version if isinstance(version, int) and not isinstance(version, bool) and version >= 0 else 0


def _check_kept(before: Any, after: Any, path: str) -> None:
    """Raises StepRemoves where a key or an item of ``before`` is gone."""
    if isinstance(before, dict):
        gone = before.keys() - after.keys() if isinstance(after, dict) else before.keys()
        if gone:
            raise StepRemoves(f"{path}: {sorted(map(str, gone))}")
        for key, value in before.items():
            _check_kept(value, after[key], f"{path}/{key}")
    elif isinstance(before, list):
        if not isinstance(after, list) or len(after) < len(before):
            raise StepRemoves(path)
        for number, value in enumerate(before):
            _check_kept(value, after[number], f"{path}/{number}")
