"""The environment of this process, and settings that follow from more than one variable of it."""

import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from apps.launcher import postgres_cluster
from config.variables import Environment, Group

DJANGO_KEYS = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
ROOT = Path(__file__).resolve().parent.parent
LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "[::1]", "::1"}

env = Environment()


def listening_host() -> str:
    """Return ``LOCI_HOST``, without the brackets of an IPv6 address."""
    host = env.str(
        "LOCI_HOST",
        shown="`127.0.0.1`",
        group=Group.INSTALLATION,
        help="The address that the web server listens on. `0.0.0.0` is every IPv4 address of the machine, `::` every "
        "address.",
    )
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not re.fullmatch(r"[\w.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", host):
        raise ImproperlyConfigured(f"LOCI_HOST must be an address such as 0.0.0.0, without a port, not {host!r}.")
    return host


def loci_home() -> Path:
    """Return the absolute path of the data folder, which may not exist yet."""
    folder = env.path(
        "LOCI_HOME",
        shown="`./var`",
        group=Group.INSTALLATION,
        help="The data folder: embedded database, generated secrets, collected static files, files that are being "
        "imported, and snapshots. Made when it is missing.",
    )
    return (folder or ROOT / "var").absolute()


def database_url() -> str:
    """Return ``DATABASE_URL``, which is empty for the embedded server."""
    return env.str(
        "DATABASE_URL",
        shown="the embedded server",
        group=Group.DATABASE,
        help="A Postgres of your own, 16 or newer, with [pgvector](https://github.com/pgvector/pgvector) 0.8 or newer "
        "available: `postgres://user:password@host:5432/name`. The user owns the tables, and may create roles; or "
        "create the role `loci_restricted` beforehand and grant it to the user. No embedded server is started then.",
    )


def database_home() -> Path | None:
    """Return the data folder of the embedded database, or None if ``DATABASE_URL`` is set."""
    return None if database_url() else loci_home()


def database() -> dict[str, Any]:
    """Return Django's database settings, from ``DATABASE_URL`` or for the embedded server."""
    home = database_home()
    return django_database(
        _connection_parameters("DATABASE_URL", database_url())
        if home is None
        else {
            "dbname": postgres_cluster.DATABASE,
            "user": postgres_cluster.ROLE,
            "host": str(postgres_cluster.socket_folder(home)),
            "port": postgres_cluster.PORT,
        }
    )


def replica_database() -> dict[str, Any] | None:
    """Return Django's settings of the replica that ``DATABASE_REPLICA_URL`` names, or None.

    A server that does not answer costs a process two seconds, now and then.
    """
    url = env.str(
        "DATABASE_REPLICA_URL",
        group=Group.DATABASE,
        help="A streaming replica of that database, in the same form: one server, not several behind a balancer. It "
        "answers searches and exports once it has replayed what is committed; where it is behind, down or fails, the "
        "primary answers. See [scaling.md](scaling.md#read-replicas).",
    )
    return (
        django_database({"connect_timeout": "2"} | _connection_parameters("DATABASE_REPLICA_URL", url)) if url else None
    )


def _connection_parameters(name: str, url: str) -> dict[str, Any]:
    """Return libpq's parameters of a variable's connection string. Raise ImproperlyConfigured if it is none."""
    with suppress(ProgrammingError):  # its text may quote a password
        parameters = dict(conninfo_to_dict(url))
        if "@" not in str(parameters.get("host", "")):
            return parameters
    form = "postgres://user:password@host:5432/name, with %40 for an @ in the password"
    raise ImproperlyConfigured(f"{name} must be like {form}.")


def django_database(parameters: dict[str, Any]) -> dict[str, Any]:
    """Convert libpq's connection parameters to Django's database settings. Those without a key become ``OPTIONS``."""
    options = {name: value for name, value in parameters.items() if name not in DJANGO_KEYS}
    named = {DJANGO_KEYS[name]: str(value) for name, value in parameters.items() if name in DJANGO_KEYS}
    return {"ENGINE": "apps.common.database.postgresql", **named, "OPTIONS": options}


def broker_conninfo(database: dict[str, Any]) -> str:
    """Return the connection string of the database in libpq's keyword form, for the broker.

    A publication is not flushed to disk before it returns, so that a write waits for the disk once and not twice.
    Messages of the last second may be lost in a crash of the database; periodic sweeps find the work they announced.
    """
    parameters = {name: database[key] for name, key in DJANGO_KEYS.items() if key in database}
    options = f"{database['OPTIONS'].get('options', '')} -c synchronous_commit=off"
    return make_conninfo("", **parameters, **database["OPTIONS"] | {"options": options.strip()})


def with_timeouts(database: dict[str, Any], seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the database settings with Postgres' timeouts, by their names. One of 0 is left as the server has it."""
    settings = [f"-c {name}={round(value * 1000)}" for name, value in seconds.items() if value > 0]
    options = " ".join([database["OPTIONS"].get("options", ""), *settings]).strip()
    return database | {"OPTIONS": database["OPTIONS"] | ({"options": options} if options else {})}


def mirror_storage() -> dict[str, Any] | None:
    """Return the entry of STORAGES for readable copies of chats: a folder, a bucket, or None without a mirror."""
    folder = env.path(
        "MIRROR_FOLDER",
        group=Group.INSTALLATION,
        help="A folder into which each chat is written, as SillyTavern's JSONL and what is remembered as Markdown, "
        "once it has not changed for a minute. Its files are named by the ids of user and chat.",
    )
    bucket = env.str(
        "MIRROR_BUCKET",
        group=Group.INSTALLATION,
        help='The same in an S3-compatible bucket. It needs `pip install "django-storages[s3]"`; keys are read from '
        "`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, the region from `AWS_DEFAULT_REGION`. The bucket has to be "
        "there. Writing, overwriting and deleting were tried with django-storages and boto3 at moto's S3 server, not "
        "at Amazon's.",
    )
    endpoint = env.url(
        "MIRROR_ENDPOINT", group=Group.INSTALLATION, help="The address of the bucket's server, if it is not Amazon's."
    )
    if folder:
        options: dict[str, Any] = {"location": str(folder), "allow_overwrite": True}
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    if bucket:
        options = {"bucket_name": bucket, "endpoint_url": endpoint or None, "file_overwrite": True, "default_acl": None}
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    return None


def secret_key() -> str:
    """Return ``SECRET_KEY``, or a random key that is generated once and kept in the data folder."""
    configured = env.str(
        "SECRET_KEY",
        shown="generated",
        group=Group.SAFETY,
        help="Signs sessions and password reset links. Without it one is made and kept in `LOCI_HOME/secret_key`. "
        "Several servers must share one. It also seals the keys of users' connections and their second factors: with "
        "another one they can't be opened and have to be entered again, unless the former is named below; then "
        "`manage.py rotate_keys` seals them with the current one.",
    )
    return configured or postgres_cluster.private_file(loci_home() / "secret_key", secrets.token_urlsafe(64))


def demo_password() -> str:
    """Return ``DEMO_PASSWORD``, or a random one that is generated once and kept in the data folder."""
    configured = env.str(
        "DEMO_PASSWORD",
        shown="generated",
        group=Group.INSTALLATION,
        help="The demo account's password. Without it one is made and kept in `LOCI_HOME/demo_password`.",
    )
    return configured or postgres_cluster.private_file(loci_home() / "demo_password", secrets.token_urlsafe(9))


def public_hosts(url: str) -> list[str]:
    """Return the allowed host names: ``ALLOWED_HOSTS``, the host of ``url``, and those of the local machine."""
    more = env.hosts(
        "ALLOWED_HOSTS",
        group=Group.INSTALLATION,
        help="More host names to answer to, separated by commas. The host of `LOCI_URL` and the loopback are always "
        "among them.",
    )
    host = urlsplit(url).hostname or ""
    return [*more, f"[{host}]" if ":" in host else host, "localhost", "127.0.0.1", "[::1]"]


def is_local(listens_on: str, hosts: list[str]) -> bool:
    """Return whether only this machine reaches the installation: it listens on the loopback and has no other name."""
    return LOOPBACK_HOSTS.issuperset([listens_on, *hosts])


def allowed_addresses(listens_on: str, hosts: list[str]) -> list[str]:
    """Return ``LLM_ALLOWED_ADDRESSES``; without it, private addresses if only this machine reaches the installation.
    ``hosts`` are the names that it answers to.
    """
    return env.list(
        "LLM_ALLOWED_ADDRESSES",
        default=["private"] if is_local(listens_on, hosts) else [],
        shown="`private` on one machine, else none",
        group=Group.LANGUAGE_MODELS,
        help="What may be called besides public addresses, separated by commas: networks (`127.0.0.0/8`, "
        "`10.1.2.0/24`), host names whatever they lead to (`ollama.internal`), `private` for all private and loopback "
        "addresses, or `*` for everything. The metadata services of clouds are never called. Allow nothing, or single "
        "hosts, where people sign up whom you don't know; an empty value allows public addresses only on one machine "
        "too.",
    )


def allowed_ports() -> list[int]:
    """Return ``LLM_ALLOWED_PORTS``, which is empty for all ports."""
    ports = env.list(
        "LLM_ALLOWED_PORTS",
        default=[],
        shown="all",
        group=Group.LANGUAGE_MODELS,
        help="The ports that connections may use, separated by commas, such as `443,11434`.",
    )
    if not all(port.isascii() and port.isdigit() and 0 < int(port) < 65536 for port in ports):
        raise ImproperlyConfigured(f"LLM_ALLOWED_PORTS must be ports between commas, not {','.join(ports)!r}.")
    return [int(port) for port in ports]
