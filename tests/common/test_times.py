"""The time since something, in words."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from apps.common.templatetags.languages import timesince_ago


@pytest.mark.parametrize(
    ("seconds", "english", "german"),
    [
        (-5, "just now", "gerade eben"),
        (59, "just now", "gerade eben"),
        (60, "1\xa0minute ago", "vor 1\xa0Minute"),
        (3 * 3600, "3\xa0hours ago", "vor 3\xa0Stunden"),
    ],
)
def test_less_than_a_minute_ago_is_just_now(time_machine, seconds, english, german):
    time_machine.move_to("2026-03-01T12:00:00Z", tick=False)
    moment = timezone.now() - timedelta(seconds=seconds)
    assert timesince_ago(moment) == english
    with translation.override("de"):
        assert timesince_ago(moment) == german
