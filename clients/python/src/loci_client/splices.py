"""Differences between texts, in Unicode code points."""

from loci_client.types import Splice


def splice_between(before: str, after: str) -> Splice:
    """Return the splice that turns ``before`` into ``after``."""
    start = _common_prefix(before, after)
    old, new = before[start:], after[start:]
    end = _common_prefix(old[::-1], new[::-1])
    return {"at": start, "delete": len(old) - end, "insert": new[: len(new) - end]}


def _common_prefix(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def spliced(text: str, splice: Splice) -> str:
    return text[: splice["at"]] + splice["insert"] + text[splice["at"] + splice["delete"] :]
