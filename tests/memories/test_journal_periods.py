"""Periods of the journal and bullets of its entries, for any date and any text."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.journal.bullets import Bullet, append_bullets, chats_in, new_bullets, parse_bullets
from apps.memories.journal.periods import (
    CONSOLIDATED,
    Granularity,
    ancestors,
    day,
    due_at,
    month_of,
    parse_period,
    week_of,
    year_of,
)

WORDS = st.text("ab -[]:*\n•", max_size=12)
BULLETS = st.builds(
    Bullet, st.sampled_from(["met Ana", "saw the sea", "- a list"]), st.sampled_from(["", "c1", "c2"]), st.just("")
)


@given(st.dates())
def test_each_date_is_in_exactly_one_week_month_and_year(date: dt.date) -> None:
    for function in (week_of, month_of, year_of):
        period = function(date)
        assert period.first <= date <= period.last
        days = range((period.last - period.first).days + 1)
        assert {function(period.first + dt.timedelta(n)) for n in days} == {period}
        for outside in (period.first.toordinal() - 1, period.last.toordinal() + 1):
            if dt.date.min.toordinal() <= outside <= dt.date.max.toordinal():
                assert function(dt.date.fromordinal(outside)) != period


@given(st.dates())
def test_each_date_belongs_to_one_period_of_each_level_whose_name_reads_back(date: dt.date) -> None:
    above = ancestors(day(date))
    assert [period.granularity for period in above] == list(CONSOLIDATED)
    for period in (day(date), *above):
        assert parse_period(period.granularity, period.name) == period
    assert above[2].name == f"{date.isocalendar().year:04}"


@pytest.mark.parametrize(
    ("date", "names"),
    [
        (dt.date(2021, 1, 3), ["2020-W53", "2020-12", "2020"]),
        (dt.date(2025, 12, 29), ["2026-W01", "2026-01", "2026"]),
        (dt.date(2026, 3, 31), ["2026-W14", "2026-04", "2026"]),
        (dt.date(2026, 4, 30), ["2026-W18", "2026-04", "2026"]),
    ],
)
def test_a_week_belongs_to_the_month_of_its_thursday(date: dt.date, names: list[str]) -> None:
    assert [period.name for period in ancestors(day(date))] == names


@pytest.mark.parametrize(
    ("granularity", "name"),
    [("daily", "20261121"), ("daily", "2026-02-30"), ("weekly", "2021-W53"), ("weekly", "2026-W00"),
     ("monthly", "2026-13"), ("yearly", "0000"), ("yearly", "٢٠٢٦"), ("weekly", "2026-W47\n"), ("significant", "")],
)  # fmt: skip
def test_a_name_of_no_period_is_refused(granularity: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"period|day|month|year|week"):
        parse_period(Granularity(granularity), name)


def test_a_week_is_due_at_five_on_its_sunday_also_when_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert due_at(week_of(dt.date(2026, 3, 29)), berlin).astimezone(dt.UTC).hour == 3  # summer time began at two
    assert due_at(week_of(dt.date(2026, 10, 25)), berlin).astimezone(dt.UTC).hour == 4  # and has ended
    assert due_at(month_of(dt.date(2026, 12, 5)), berlin) == dt.datetime(2027, 1, 1, 5, tzinfo=berlin)


@given(WORDS)
def test_bullets_read_back_as_they_are_written(text: str) -> None:
    bullets = parse_bullets(text)
    assert parse_bullets("\n".join(map(str, bullets))) == bullets


def test_a_bullet_is_read_with_its_tags_in_any_order() -> None:
    text = "* We met\n  Ana. [via:desk] [chat:7]\n\nA line [1] alone [chat:x y]"
    assert parse_bullets(text) == [Bullet("We met Ana.", "7", "desk"), Bullet("A line [1] alone [chat:x y]")]


@given(WORDS, st.lists(BULLETS), st.lists(BULLETS))
def test_a_merge_keeps_what_is_there_and_repeats_no_tag(text: str, first: list[Bullet], second: list[Bullet]) -> None:
    merged = text
    for bullets in (first, second, first):
        merged = append_bullets(merged, new_bullets(merged, append_bullets("", bullets)))
    assert merged.startswith(text.rstrip())
    chats = [bullet.chat for bullet in parse_bullets(merged) if bullet.chat]
    assert sorted(chats) == sorted(set(chats))
    assert set(chats_in(merged)) == {bullet.chat for bullet in (*first, *second) if bullet.chat}
    texts = {bullet.text for bullet in parse_bullets(merged)}
    expected = parse_bullets(append_bullets("", [each for each in (*first, *second) if not each.chat]))
    assert {bullet.text for bullet in expected} <= texts | {""}
