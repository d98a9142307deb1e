"""What an installation sets by its environment has its effect, and stands in the documentation."""

import json
import os
import pty
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from apps.launcher.checks import check_admin_path, check_variables
from config import env as environment
from config.configuration_page import page
from config.env import ROOT, Environment
from config.logging import ROUTINE_TASKS, default_format
from config.variables import Group


def test_the_page_of_variables_is_what_the_settings_read() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == page(), "run `make docs`"
    assert len(settings.ENVIRONMENT_VARIABLES) > 70


def test_the_page_of_variables_is_the_same_whatever_is_set(tmp_path: Path) -> None:
    """A default that depends on other variables is told in words, and none is read in some processes only."""
    others = {"LOCI_HOST": "0.0.0.0", "LOCI_FORM": "large", "LOCI_PROCESS": "web", "MIRROR_FOLDER": str(tmp_path)}
    others |= {"EMAIL_URL": "smtp://mail.example", "DATABASE_REPLICA_URL": "postgres://me@replica.example/loci"}
    command = [sys.executable, "-m", "config.configuration_page"]
    written = subprocess.run(
        command, env=os.environ | others | {"LOCI_HOME": str(tmp_path)}, cwd=ROOT, capture_output=True, check=True
    )
    assert written.stdout.decode() == page()


def test_an_empty_embedding_model_is_the_default(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from config import settings; print(settings.EMBEDDING_MODEL)"]
    empty = os.environ | {"LOCI_HOME": str(tmp_path), "EMBEDDING_MODEL": ""}
    assert subprocess.run(command, env=empty, cwd=ROOT, capture_output=True, check=True).stdout == b"minilm\n"


def test_a_variable_that_is_read_stands_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLIDAYS", "3")
    env = Environment()
    assert env.int("HOLIDAYS", default=14, group=Group.MAIL, help="Days without mail.") == 3
    assert env.float("PAUSE", default=1.0, group=Group.MAIL, help="Seconds.") == 1.0
    assert env.bool("QUIET", default=False, group=Group.LOGS, help="No logs.") is False
    assert env.list("NAMES", default=[], shown="all", group=Group.LOGS, help="Whose.") == []
    written = page(env.variables)
    assert (
        "## Mail\n\n| variable | default | what it does |\n|---|---|---|\n| `HOLIDAYS` | `14` | Days without" in written
    )
    assert "| `PAUSE` | `1` | Seconds. |\n\n## Logs" in written
    assert "| `QUIET` | `off` | No logs. |\n| `NAMES` | all | Whose. |" in written


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("LOCI_PORT", "abc", "a whole number from 1 to 65535, not 'abc'"),
        ("LOCI_PORT", "99999", "a whole number from 1 to 65535"),
        ("DATABASE_POOL_SIZE", "-1", "a whole number of at least 0"),
        ("DATABASE_STATEMENT_TIMEOUT", "30s", "a number of at least 0"),
        ("SSE_HEARTBEAT", "nan", "a number of at least 0"),
        ("DEBUG", "perhaps", "on or off, not 'perhaps'"),
        ("LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR"),
        ("LOCI_URL", "loci.example.com", "an address such as https://example.com."),
        ("LOCI_URL", "https://key:secret@a.example, https://b.example", "an address such as https://example.com."),
        ("LOCI_URL", "https://", "an address"),
        ("LOCI_URL", "https://example.com:port", "an address"),
    ],
)
def test_a_value_that_can_not_be_used_is_told_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wanted: str
) -> None:
    monkeypatch.setenv(name, value)
    env = Environment()
    reads: dict[str, Callable[[], object]] = {
        "LOCI_PORT": lambda: env.int(name, default=1, least=1, most=65535, group=Group.LIMITS, help=""),
        "DATABASE_POOL_SIZE": lambda: env.int(name, default=1, group=Group.LIMITS, help=""),
        "DATABASE_STATEMENT_TIMEOUT": lambda: env.float(name, default=1.0, group=Group.LIMITS, help=""),
        "SSE_HEARTBEAT": lambda: env.float(name, default=1.0, group=Group.LIMITS, help=""),
        "DEBUG": lambda: env.bool(name, default=False, group=Group.LIMITS, help=""),
        "LOG_LEVEL": lambda: env.choice(
            name, ["DEBUG", "INFO", "WARNING", "ERROR"], default="INFO", group=Group.LIMITS, help=""
        ),
        "LOCI_URL": lambda: env.url(name, group=Group.LIMITS, help=""),
    }
    with pytest.raises(ImproperlyConfigured, match=f"^{name} must be {re.escape(wanted)}"):
        reads[name]()


@pytest.mark.parametrize("name", ["DATABASE_URL", "DATABASE_REPLICA_URL", "EMAIL_URL"])
def test_an_address_that_can_not_be_used_is_not_shown_since_it_may_hold_a_password(
    monkeypatch: pytest.MonkeyPatch, fresh_environment: None, name: str
) -> None:
    monkeypatch.setenv(name, "secret@host")
    reads: dict[str, Callable[[], object]] = {
        "DATABASE_URL": environment.database,
        "DATABASE_REPLICA_URL": environment.replica_database,
        "EMAIL_URL": lambda: environment.env.email_url(name, default="", group=Group.MAIL, help=""),
    }
    with pytest.raises(ImproperlyConfigured, match=f"^{name} must be like") as raised:
        reads[name]()
    assert "secret" not in "".join(traceback.format_exception(raised.value))


def test_a_command_ends_with_one_sentence_about_a_value_that_can_not_be_used(tmp_path: Path) -> None:
    others = os.environ | {"LOCI_HOME": str(tmp_path), "LOCI_PORT": "abc"}
    command = [sys.executable, "manage.py", "check"]
    ended = subprocess.run(command, env=others, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr == (
        "The configuration can't be used: LOCI_PORT must be a whole number from 1 to 65535, not 'abc'.\n"
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LOCI_HOST", "0.0.0.0:8000", "without a port, not '0.0.0.0:8000'"),
        ("LOCI_HOST", '"0.0.0.0"', "without a port"),
        ("LOCI_HOME", '"/srv/loci"', "without quotes"),
        ("ALLOWED_HOSTS", "a.example:8000", "not 'a.example:8000'"),
        ("ALLOWED_HOSTS", "http://a.example", "must be names"),
        ("LOCI_URL", "https://me:secret@a.example", "without a path"),
        ("LOCI_URL", "https://a.example/loci", "without a path"),
        ("CORS_ORIGINS", "*", "without a path"),
        ("CELERY_BROKER_URL", "redis:6379", "like redis://"),
        ("ACCOUNT_DELETION_DAYS", "9999999", "from 0 to 36500"),
        ("DATABASE_URL", "postgres://me:p@ss@db.example/loci", "with %40 for an @"),
        ("EMAIL_URL", "smtp://me:secret@host:587?tls=True", "like smtp+tls://"),
    ],
)
def test_an_odd_value_does_not_start_something_else(tmp_path: Path, name: str, value: str, told: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "from config import settings"],
        env=os.environ | {"LOCI_HOME": str(tmp_path), name: value},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"django.core.exceptions.ImproperlyConfigured: {name}")
    assert told in last
    assert "secret" not in ended.stderr


ADDRESSES = "print(json.dumps([s.LOCI_HOST, s.LOCI_URL, s.ALLOWED_HOSTS, s.CORS_ALLOWED_ORIGINS]))"
MAIL = "print(json.dumps([s.EMAIL_HOST_USER, s.EMAIL_HOST_PASSWORD, s.EMAIL_PORT, s.EMAIL_USE_TLS, s.EMAIL_USE_SSL]))"


@pytest.mark.parametrize(
    ("variables", "program", "read"),
    [
        ({"LOCI_HOST": ""}, ADDRESSES, ["127.0.0.1", "http://127.0.0.1:8000", ["127.0.0.1"], []]),
        ({"LOCI_HOST": "[::]"}, ADDRESSES, ["::", "http://127.0.0.1:8000", ["127.0.0.1"], []]),
        (
            {"LOCI_URL": "http://[fd00::5]:8000/", "CORS_ORIGINS": "chrome-extension://abc, https://a.example/"},
            ADDRESSES,
            ["127.0.0.1", "http://[fd00::5]:8000", ["[fd00::5]"], ["chrome-extension://abc", "https://a.example"]],
        ),
        ({"EMAIL_URL": "smtp+tls://a+b%40c.de:p+w@h"}, MAIL, ["a+b@c.de", "p+w", 587, True, False]),
        ({"EMAIL_URL": "smtps://me:pw@h:465"}, MAIL, ["me", "pw", 465, False, True]),
    ],
)
def test_addresses_are_read_as_people_write_them(
    tmp_path: Path, variables: dict[str, str], program: str, read: list[Any]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import json; from config import settings as s; {program}"],
        env=os.environ | {"LOCI_HOME": str(tmp_path)} | variables,
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    if program == ADDRESSES:
        found[2] = found[2][:-3]  # without the names of the loopback, which are always among them
    assert found == read


@pytest.mark.parametrize("path", ["api/", "settings/", "static/", "v1/", "my admin/"])
def test_the_admin_site_takes_the_place_of_no_page(settings: Any, path: str) -> None:
    assert not check_admin_path()
    settings.ADMIN_PATH = path
    assert [error.id for error in check_admin_path()] in (["launcher.E001"], ["launcher.E002"])


def test_values_are_read_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Environment()
    for name, value in {"KEY": "$ecret", "EMPTY": "", "HOSTS": "a.example, b.example,", "LEVEL": "debug"}.items():
        monkeypatch.setenv(name, value)
    assert env.str("KEY", group=Group.SAFETY, help="") == "$ecret", "no name of another variable"
    assert env.int("EMPTY", default=3, group=Group.LIMITS, help="") == 3, "as a Compose file leaves it"
    monkeypatch.setenv("DEMO", "")
    assert env.bool("DEMO", default=True, group=Group.INSTALLATION, help="") is False
    assert env.list("HOSTS", default=[], group=Group.LIMITS, help="") == ["a.example", "b.example"]
    assert env.choice("LEVEL", ["DEBUG", "INFO"], default="INFO", group=Group.LOGS, help="") == "DEBUG"


def test_a_variable_is_described_once() -> None:
    env = Environment()
    for _ in range(2):
        env.str("NAME", group=Group.MAIL, help="The same.")
    with pytest.raises(ValueError, match="NAME is described in two ways"):
        env.str("NAME", group=Group.MAIL, help="Another.")


def test_a_misspelt_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not check_variables()
    monkeypatch.setenv("DATABASE_POOLSIZE", "5")
    monkeypatch.setenv("SECRET_KEY_BASE", "of another program")
    [warning] = check_variables()
    assert (warning.msg, warning.hint) == ("DATABASE_POOLSIZE is read by nothing.", "Did you mean DATABASE_POOL_SIZE?")


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
