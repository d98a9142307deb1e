"""Identifiers sort by when they were made."""

import time

from apps.common.ids import uuid7


def test_what_is_made_later_sorts_later_within_a_millisecond_too() -> None:
    made = []
    for _ in range(500):
        made.append(uuid7())
        time.sleep(0.000001)
    assert made == sorted(made)
    assert len(set(made)) == 500
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
    assert abs((made[0].int >> 80) / 1000 - time.time()) < 60
