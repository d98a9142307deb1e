"""Order of UUIDv7 keys."""

import time

from apps.common.database.ids import uuid7


def test_ids_sort_by_creation_also_within_a_millisecond() -> None:
    made = []
    for _ in range(500):
        made.append(uuid7())
        time.sleep(0.000001)
    assert made == sorted(made)
    assert len(set(made)) == 500
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
    assert abs((made[0].int >> 80) / 1000 - time.time()) < 60
