"""What an installation sets by its environment has its effect, and stands in the documentation."""

import ast
import os
import pty
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from config import env as environment
from config.env import ROOT, Environment
from config.logging import ROUTINE_TASKS, default_format
from config.variables import VARIABLES, page


def defaults_read() -> dict[str, Any]:
    """The variables that the configuration asks the environment for; with their defaults where these are values."""
    found: dict[str, Any] = {}
    for path in (ROOT / "config" / "env.py", *(ROOT / "config" / "settings").glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and re.fullmatch(r"env\.\w+", ast.unparse(call.func)):
                name = ast.literal_eval(call.args[0])
                default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
                found[name] = value_of(default) if default is not None else None
    return found


def value_of(expression: ast.expr) -> Any:
    """Return the value of numbers and texts, also multiplied ones; None for what depends on other settings."""
    source = ast.unparse(expression)
    return eval(source) if re.fullmatch(r"[\d_.*\s]+|'[^']*'|True|False", source) else None


def test_every_variable_is_described_and_nothing_else() -> None:
    assert set(VARIABLES) == set(defaults_read())


def test_the_described_defaults_are_those_of_the_code() -> None:
    read = {name: value for name, value in defaults_read().items() if value not in (None, "")}
    assert len(read) > 40
    told = {name: VARIABLES[name].default.strip("`") for name in read}
    words = {True: "on", False: "off"}
    assert told == {
        name: words[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in read.items()
    }


def test_the_page_of_variables_is_what_the_code_describes() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == page(), "run `make docs`"


@pytest.fixture
def fresh_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment whose files have not been read yet."""
    monkeypatch.setattr(environment, "env", Environment())


def test_a_value_comes_from_the_file_that_name_file_points_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_environment: None
) -> None:
    (tmp_path / "key").write_text("from the file\n")
    monkeypatch.setenv("SECRET_KEY", "from the variable")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))

    assert environment.secret_key() == "from the file"


def test_an_empty_secret_key_counts_as_none_and_one_is_made_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_environment: None
) -> None:
    monkeypatch.setenv("SECRET_KEY", "")
    monkeypatch.setenv("LOCI_HOME", str(tmp_path / "home"))

    made = environment.secret_key()

    assert len(made) > 60
    assert environment.secret_key() == made
    assert (tmp_path / "home" / "secret_key").read_text() == made


def test_a_database_url_replaces_the_embedded_server(monkeypatch: pytest.MonkeyPatch, fresh_environment: None) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me:sec%20ret@db.example:5433/loci?sslmode=require")

    assert environment.database_home() is None
    database = environment.database()
    assert (database["HOST"], database["PORT"], database["PASSWORD"]) == ("db.example", "5433", "sec ret")
    assert database["OPTIONS"] == {"sslmode": "require"}
    assert conninfo_to_dict(environment.broker_conninfo(database))["sslmode"] == "require"


def test_the_broker_does_not_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch, fresh_environment: None) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me@db.example/loci?options=-c%20search_path%3Dloci")

    options = conninfo_to_dict(environment.broker_conninfo(environment.database()))["options"]
    assert options == "-c search_path=loci -c synchronous_commit=off"


def test_a_database_url_may_name_a_socket_folder(monkeypatch: pytest.MonkeyPatch, fresh_environment: None) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://me@%2Frun%2Fpostgresql/loci")

    assert environment.database()["HOST"] == "/run/postgresql"


def test_a_relative_data_folder_becomes_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh_environment: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCI_HOME", "data")

    assert environment.loci_home() == tmp_path / "data"


def test_the_host_of_the_public_url_is_answered_to(monkeypatch: pytest.MonkeyPatch, fresh_environment: None) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example,b.example")

    assert environment.public_hosts("https://loci.example/")[:3] == ["a.example", "b.example", "loci.example"]


@pytest.mark.parametrize(
    ("listens_on", "url", "more_hosts", "allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000", "", ["private"]),
        ("127.0.0.1", "http://localhost:8000", "", ["private"]),
        ("::1", "http://[::1]:8000", "", ["private"]),
        ("127.0.0.1", "https://loci.example.com", "", []),
        ("127.0.0.1", "http://192.168.1.7:8000", "", []),
        ("127.0.0.1", "http://127.0.0.1:8000", "loci.example.com", []),
        ("0.0.0.0", "http://127.0.0.1:8000", "", []),
    ],
)
def test_private_addresses_are_allowed_only_where_no_other_machine_reaches_the_installation(
    monkeypatch: pytest.MonkeyPatch,
    fresh_environment: None,
    listens_on: str,
    url: str,
    more_hosts: str,
    allowed: list[str],
) -> None:
    monkeypatch.delenv("LLM_ALLOWED_ADDRESSES", raising=False)
    monkeypatch.setenv("ALLOWED_HOSTS", more_hosts)
    assert environment.allowed_addresses(listens_on, environment.public_hosts(url)) == allowed


def test_what_the_operator_allows_replaces_the_default(
    monkeypatch: pytest.MonkeyPatch, fresh_environment: None
) -> None:
    monkeypatch.setenv("LLM_ALLOWED_ADDRESSES", "")
    assert environment.allowed_addresses("127.0.0.1", ["localhost"]) == []
    monkeypatch.setenv("LLM_ALLOWED_ADDRESSES", "10.0.0.0/8,ollama.internal")
    assert environment.allowed_addresses("0.0.0.0", ["loci.example.com"]) == ["10.0.0.0/8", "ollama.internal"]


def test_what_the_scheduler_sends_every_few_minutes_is_not_logged_each_time() -> None:
    entries = settings.CELERY_BEAT_SCHEDULE.values()
    assert {
        entry["task"] for entry in entries if isinstance(entry["schedule"], float) and entry["schedule"] <= 300
    } == ROUTINE_TASKS


def test_logs_are_text_for_people_and_json_in_files(tmp_path: Path) -> None:
    _, terminal = pty.openpty()
    reading, writing = os.pipe()
    with (tmp_path / "log").open("w") as file, os.fdopen(terminal, "w") as screen, os.fdopen(writing, "w") as pipe:
        assert [default_format(stream) for stream in (file, screen, pipe, None)] == [
            *("json", "console", "console", "console"),
        ]
    os.close(reading)
