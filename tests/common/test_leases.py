"""Who holds a key until when: taken, renewed, lost and released, over several connections at once."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection
from django.utils import timezone

from apps.common import leases
from apps.common.models import Lease

pytestmark = pytest.mark.django_db
KEY = "test of leases"
MINUTE = dt.timedelta(minutes=1)
T = TypeVar("T")


def take(key: str = KEY, *, limit: int | None = 1, first: bool = False) -> uuid.UUID | None:
    """Take a lease as another holder. Return the holder, or None if it did not get one."""
    holder = uuid.uuid4()
    return None if leases.take(key, holder, MINUTE, limit=limit, first=first) is None else holder


def taken(*, limit: int | None = 1, first: bool = False) -> uuid.UUID:
    holder = take(limit=limit, first=first)
    assert holder
    return holder


def expire(*holders: uuid.UUID) -> None:
    """Let the leases of these holders end, as when a minute has passed."""
    row = Lease.objects.get(key=KEY)
    past = timezone.now() - MINUTE
    row.ends = [past if held in holders else end for held, end in zip(row.holders, row.ends, strict=True)]
    row.save()


@pytest.fixture
def at_once(transactional_db: None) -> Iterator[Callable[[Callable[[], T], int], list[T]]]:
    """A function that calls another one in many threads at once, each with a connection of its own."""

    def call(work: Callable[[], T]) -> T:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        yield lambda work, times: list(pool.map(lambda _: call(work), range(times)))


def test_of_many_who_take_a_key_at_once_one_gets_it(at_once: Callable[..., list[uuid.UUID | None]]) -> None:
    got = [holder for holder in at_once(take, 40) if holder]
    assert len(got) == 1
    assert leases.holders(KEY) == got


def test_no_more_than_the_limit_take_a_key_at_once(at_once: Callable[..., list[uuid.UUID | None]]) -> None:
    got = [holder for holder in at_once(lambda: take(limit=5), 40) if holder]
    assert len(set(got)) == 5
    leases.release(KEY, got[2])
    assert set(leases.holders(KEY)) == set(got) - {got[2]}
    assert take(limit=5)
    assert not take(limit=5)


def test_all_get_places_of_their_own_where_there_is_no_limit(at_once: Callable[..., list[int | None]]) -> None:
    places = at_once(lambda: leases.take(KEY, uuid.uuid4(), MINUTE, limit=None), 40)
    assert sorted(places) == list(range(40))


def test_one_of_many_gets_what_a_dead_holder_had(at_once: Callable[..., list[uuid.UUID | None]]) -> None:
    dead = taken()
    expire(dead)
    got = [holder for holder in at_once(take, 20) if holder]
    assert leases.holders(KEY) == got
    assert len(got) == 1


def test_a_renewal_that_comes_with_a_take_loses_or_wins_but_never_both(
    at_once: Callable[..., list[tuple[bool, bool]]],
) -> None:
    """The slow holder goes on exactly if nobody else has the key."""
    slow = taken()
    for _ in range(10):
        assert leases.take(KEY, slow, dt.timedelta(milliseconds=5), limit=None) is not None

        def race() -> tuple[bool, bool]:
            return leases.renew(KEY, slow, MINUTE), take() is not None

        results = at_once(race, 8)
        renewed, others = any(each[0] for each in results), sum(each[1] for each in results)
        assert renewed + others == 1
        assert len(leases.holders(KEY)) == 1
        leases.delete([KEY])


def test_a_lease_holds_until_it_is_released() -> None:
    holder = taken()
    assert not take()
    assert take("another key")
    leases.release(KEY, holder)
    assert leases.holders(KEY) == []
    assert not leases.renew(KEY, holder, MINUTE)
    assert take()


def test_a_lost_lease_can_not_be_renewed_or_released() -> None:
    slow = taken()
    expire(slow)
    assert not leases.renew(KEY, slow, MINUTE), "it has expired"
    quick = taken()
    assert not leases.renew(KEY, slow, MINUTE), "another one has it"
    leases.release(KEY, slow)
    assert leases.holders(KEY) == [quick]
    assert leases.renew(KEY, quick, MINUTE)


def test_a_holder_that_takes_again_keeps_its_place() -> None:
    first, second = taken(limit=2), taken(limit=2)
    assert leases.take(KEY, first, MINUTE, limit=2) == 0
    assert leases.take(KEY, second, MINUTE, limit=2) == 1
    assert leases.holders(KEY) == [first, second]
    before = Lease.objects.get(key=KEY).ends[0]
    leases.take(KEY, first, 2 * MINUTE, limit=2)
    assert Lease.objects.get(key=KEY).ends[0] > before + MINUTE / 2


def test_who_comes_first_stands_before_the_others_and_moves_them() -> None:
    holders = [taken(limit=None) for _ in range(2)]
    urgent = taken(limit=None, first=True)
    assert leases.holders(KEY) == [urgent, *holders]
    assert leases.take(KEY, holders[1], MINUTE, limit=None) == 2
    expire(urgent, holders[0])
    assert leases.take(KEY, holders[1], MINUTE, limit=None) == 0


def test_keys_that_nobody_holds_are_deleted() -> None:
    holder = taken(limit=2)
    other = taken(limit=2)
    expire(holder)
    leases.delete_expired()
    assert Lease.objects.filter(key=KEY).exists()
    leases.release(KEY, other)
    leases.delete_expired()
    assert not Lease.objects.filter(key=KEY).exists()
    leases.delete([KEY, "another key"])
