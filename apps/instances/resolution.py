"""Decide what becomes of a version that an instance pushes. Pure functions."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from apps.instances.vector_clock import Clock, Order, compare


class Rule(StrEnum):
    """What decides between two concurrent versions of an item."""

    LAST_WRITE = "last_write"
    BULLETS = "bullets"
    BOTH = "both"


class PushOutcome(StrEnum):
    """What is done with the pushed version."""

    KEEP = "keep"  # the stored version stays
    ADOPT = "adopt"  # the pushed version replaces it
    MERGE = "merge"  # bullets of both are kept
    KEEP_BOTH = "keep_both"  # the stored version stays, a person decides


class ResolutionReason(StrEnum):
    """Why one of two versions won, as reported to the instance."""

    LAST_WRITE_WINS = "last-write-wins"
    PRIORITY = "priority"
    MERGED_BULLETS = "merged-bullets"
    DOMINATED = "dominated"
    KEPT_BOTH = "kept-both"
    DELETED = "deleted"


@dataclass(frozen=True)
class Contender:
    """One of the two versions between which is decided: the stored or the pushed one.

    Without ``text`` it is deleted. Ties are won by ``priority``, then by ``instance``.
    """

    text: str | None
    clock: Clock
    instance: str
    at: dt.datetime
    priority: int = 0


@dataclass(frozen=True)
class Decision:
    """What to do, and the reason if one version lost against the other."""

    action: PushOutcome
    reason: ResolutionReason | None = None


def resolve(stored: Contender, pushed: Contender, rule: Rule) -> Decision:
    """Return what becomes of ``pushed``.

    Equal clocks with different texts, which no honest instance sends, are treated as concurrent, so that nothing is
    lost.
    """
    order = compare(pushed.clock, stored.clock)
    if order == Order.AFTER:
        return Decision(PushOutcome.ADOPT)
    if pushed.text == stored.text:
        return Decision(PushOutcome.KEEP)
    if order == Order.BEFORE:
        return Decision(
            PushOutcome.KEEP, ResolutionReason.DELETED if stored.text is None else ResolutionReason.DOMINATED
        )
    if pushed.text is None or stored.text is None:
        return Decision(PushOutcome.KEEP if pushed.text is None else PushOutcome.ADOPT, ResolutionReason.DELETED)
    if rule == Rule.BULLETS:
        return Decision(PushOutcome.MERGE, ResolutionReason.MERGED_BULLETS)
    return (
        _last_write(stored, pushed)
        if rule == Rule.LAST_WRITE
        else Decision(PushOutcome.KEEP_BOTH, ResolutionReason.KEPT_BOTH)
    )


def _last_write(stored: Contender, pushed: Contender) -> Decision:
    if pushed.at != stored.at:
        return Decision(
            PushOutcome.ADOPT if pushed.at > stored.at else PushOutcome.KEEP, ResolutionReason.LAST_WRITE_WINS
        )
    wins = (pushed.priority, pushed.instance) > (stored.priority, stored.instance)
    return Decision(PushOutcome.ADOPT if wins else PushOutcome.KEEP, ResolutionReason.PRIORITY)
