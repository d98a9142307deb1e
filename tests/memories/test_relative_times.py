"""Weeks, seasons and times ago get their dates in German and Chinese; what only looks like one gets none."""

import datetime as dt

import pytest

from apps.memories.relative_dates import dated

FRIDAY = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Letzte Woche war ich in Ulm.", "Letzte Woche (2026-11-16 – 2026-11-22) war ich in Ulm."),
        ("Ich war letzten Winter in Ulm.", "Ich war letzten Winter (2025-12 – 2026-02) in Ulm."),
        ("Ich war vor drei Tagen in Ulm.", "Ich war vor drei Tagen (2026-11-24) in Ulm."),
        ("Ich war vor 2 Monaten in Ulm.", "Ich war vor 2 Monaten (2026-09) in Ulm."),
        ("Ich war vor einem Jahr in Ulm.", "Ich war vor einem Jahr (2025) in Ulm."),
        ("上周我们去了那里。", "上周（2026-11-16 – 2026-11-22）我们去了那里。"),
        ("三天前我们见过他。", "三天前（2026-11-24）我们见过他。"),
        ("两个星期前他来了。", "两个星期前（2026-11-13）他来了。"),
    ],
)
def test_a_date_follows(text: str, expected: str) -> None:
    assert dated(text, FRIDAY, dt.UTC) == expected


@pytest.mark.parametrize(
    "text",
    ["他上周三来了。", "我上周末去了那里。", "十三天前我们见过他。", "第三天前面没有人。", "Ich stehe vor drei Türen."],
)
def test_what_names_another_time_or_none_is_left_alone(text: str) -> None:
    assert dated(text, FRIDAY, dt.UTC) == text


@pytest.mark.parametrize(
    "text", ["Ich war vor 999 Jahren in Ulm.", "Ich war vor 999 Monaten in Ulm.", "Ich war vor 999 Wochen in Ulm."]
)
def test_a_time_before_the_calendar_gets_no_date(text: str) -> None:
    assert dated(text, dt.datetime(10, 1, 1, tzinfo=dt.UTC), dt.UTC) == text
