"""Dates of chat files."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.dates import parse_date


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2025-09-26T15:04:33.123Z", utc(2025, 9, 26, 15, 4, 33, 123000)),
        ("2025-09-26T15:04:33+02:00", utc(2025, 9, 26, 13, 4, 33)),
        ("2025-09-26T15:04:33", utc(2025, 9, 26, 15, 4, 33)),
        ("2025-09-26", utc(2025, 9, 26)),
        (1674563371558, utc(2023, 1, 24, 12, 29, 31, 558000)),
        (1674563371558.0, utc(2023, 1, 24, 12, 29, 31, 558000)),
        (1674563371, utc(2023, 1, 24, 12, 29, 31)),
        (1674563371.5, utc(2023, 1, 24, 12, 29, 31, 500000)),
        ("1674563371", utc(2023, 1, 24, 12, 29, 31)),
        (" 1674563371.5 ", utc(2023, 1, 24, 12, 29, 31, 500000)),
        ("1674563371558.0", utc(2023, 1, 24, 12, 29, 31, 558000)),
        ("1674563371558", utc(2023, 1, 24, 12, 29, 31, 558000)),
        ("June 19, 2023 2:20pm", utc(2023, 6, 19, 14, 20)),
        ("June 19, 2023 12:05am", utc(2023, 6, 19, 0, 5)),
        ("December 1, 2024 12:00pm", utc(2024, 12, 1, 12)),
        ("2024-07-12@01h31m37s123ms", utc(2024, 7, 12, 1, 31, 37, 123000)),
        ("2024-7-12@01h31m37s", utc(2024, 7, 12, 1, 31, 37)),
        ("2023-6-5 @14h 56m 50s 682ms", utc(2023, 6, 5, 14, 56, 50, 682000)),
        ("11:01 am on 17 December, 2022", utc(2022, 12, 17, 11, 1)),
        ("  June 19, 2023 2:20pm ", utc(2023, 6, 19, 14, 20)),
        ("June 19, 2023 2:20:05\u202fPM", utc(2023, 6, 19, 14, 20, 5)),
        ("Sept. 3rd, 2023 2:20 p.m.", utc(2023, 9, 3, 14, 20)),
        (1674563371558123, utc(2023, 1, 24, 12, 29, 31, 558123)),
        (1674563371558123456, utc(2023, 1, 24, 12, 29, 31, 558123)),
        ("1674563371558123", utc(2023, 1, 24, 12, 29, 31, 558123)),
        ("Sat Jun 17 2023 14:20:00 GMT+0200 (Central European Summer Time)", utc(2023, 6, 17, 12, 20)),
        ("Sat, 17 Jun 2023 14:20:00 GMT", utc(2023, 6, 17, 14, 20)),
        ("17 June 2023 14:20:00 -05:30", utc(2023, 6, 17, 19, 50)),
        ("2023-06-17 14:20:00 UTC", utc(2023, 6, 17, 14, 20)),
        ("März 5, 2024 14:20", utc(2024, 3, 5, 14, 20)),
        ("août 5, 2024 2:20pm", utc(2024, 8, 5, 14, 20)),
        ("мая 5, 2024 14:20", utc(2024, 5, 5, 14, 20)),
        ("2023年6月17日 14:20", utc(2023, 6, 17, 14, 20)),
        ("2023/6/17 14:20:00", utc(2023, 6, 17, 14, 20)),
        ("2023/6/17 下午2:20:00", utc(2023, 6, 17, 14, 20)),
        ("2023. 6. 17. 오전 12:20:00", utc(2023, 6, 17, 0, 20)),
        ("17.6.2023, 14:20:00", utc(2023, 6, 17, 14, 20)),
    ],
)
def test_every_shape_is_read_as_utc(written: object, meant: dt.datetime) -> None:
    assert parse_date(written) == meant


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -5, "0", "", "yesterday", [], {}, 10**30, "9" * 30, float("nan"), float("inf")),
        *("6/7/2023, 2:20:00 PM", "Brumaire 19, 2023 2:20pm", "31.6.2023, 14:20", "17.6.2023, 14:60", 10**22),
        *(
            "1 Jan 0001 00:00:00 +1400",
            "Jun 17 2023 14:20 +9999",
            "2023/6/17 下午13:20",
            f"2023/6/17 {' ' * 100_000} x",
        ),
        *("June 19, 2023 13:20pm", "June 31, 2023 2:20pm", "2024-13-01@01h31m37s"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "٢٠٢٤-7-12@01h31m37s", "²"),
    ],
)
def test_what_names_no_moment_is_none(value: object) -> None:
    assert parse_date(value) is None


json_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
almost_dates = st.from_regex(
    r"[A-Z][a-z]{2} \d{1,2},? \d{4} \d{1,2}:\d{2}(:\d{2})?( ?[ap]m)?( ?[+-]\d{4})?|"
    r"\d{1,4}[./]\d{1,2}[./]\d{1,4} \d{1,2}:\d{2}|"
    r"\d{1,5}-\d{1,3}-\d{1,3} ?@\d{1,3}h ?\d{1,3}m ?\d{1,3}s( ?\d{1,4}ms)?|\d{1,40}"
)


@given(json_scalars | almost_dates | st.lists(json_scalars) | st.dictionaries(st.text(), json_scalars))
def test_no_value_raises(value: object) -> None:
    moment = parse_date(value)
    assert moment is None or moment.utcoffset() == dt.timedelta(0)


@given(st.datetimes(min_value=dt.datetime(1970, 1, 2), timezones=st.just(dt.UTC)))
def test_iso_dates_come_back(moment: dt.datetime) -> None:
    assert parse_date(moment.isoformat()) == moment
