"""What `manage.py up` says once everything is ready."""

from typing import Any

from apps.launcher.management.commands.up import ready_message


def test_the_login_of_the_demo_stands_at_the_end_of_each_start(settings: Any) -> None:
    settings.DEMO, settings.DEMO_EMAIL, settings.DEMO_PASSWORD = True, "demo@example.com", "blue-stone"
    lines = ready_message().splitlines()
    assert lines[0] == ""  # apart from the log
    assert "Loci is ready" in lines[1]
    assert lines[2].endswith("demo@example.com")
    assert lines[3].endswith("blue-stone")
    settings.DEMO = False
    assert "blue-stone" not in ready_message()
