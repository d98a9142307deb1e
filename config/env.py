"""Environment variables: each is read from ``NAME``, or from the file that ``NAME_FILE`` names."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from apps.launcher import embedded_postgres

DJANGO_KEYS = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
ROOT = Path(__file__).resolve().parent.parent
LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "[::1]", "::1"}


class StrippedFiles(environ.FileAwareMapping):
    """Mapping that strips whitespace from values: files usually end in a line break."""

    def __getitem__(self, key: str) -> str:
        return super().__getitem__(key).strip()


class Environment(environ.FileAwareEnv):
    """Reader of the environment that prefers ``NAME_FILE`` to ``NAME``."""

    def __init__(self) -> None:
        super().__init__()
        self.ENVIRON: Mapping[str, str] = StrippedFiles()


env = Environment()


def one_of(name: str, value: str, *choices: str) -> str:
    """Return the value of a variable, or the first choice for an empty one. Raise ImproperlyConfigured for others."""
    if value and value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return value or choices[0]


def loci_home() -> Path:
    """Return the absolute path of the data folder, which may not exist yet."""
    return Path(env.str("LOCI_HOME", default="") or ROOT / "var").expanduser().absolute()


def database_home() -> Path | None:
    """Return the data folder of the embedded database, or None if ``DATABASE_URL`` is set."""
    return None if env.str("DATABASE_URL", default="") else loci_home()


def database() -> dict[str, Any]:
    """Return Django's database settings, from ``DATABASE_URL`` or for the embedded server."""
    home = database_home()
    return django_database(
        conninfo_to_dict(env.str("DATABASE_URL"))
        if home is None
        else {
            "dbname": embedded_postgres.DATABASE,
            "user": embedded_postgres.ROLE,
            "host": str(embedded_postgres.socket_folder(home)),
            "port": embedded_postgres.PORT,
        }
    )


def replica_database() -> dict[str, Any] | None:
    """Return Django's settings of the replica that ``DATABASE_REPLICA_URL`` names, or None.

    A server that does not answer costs a process two seconds, now and then.
    """
    url = env.str("DATABASE_REPLICA_URL", default="")
    return django_database({"connect_timeout": "2"} | conninfo_to_dict(url)) if url else None


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
    if folder := env.str("MIRROR_FOLDER", default=""):
        options: dict[str, Any] = {"location": folder, "allow_overwrite": True}
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    if bucket := env.str("MIRROR_BUCKET", default=""):
        endpoint = env.str("MIRROR_ENDPOINT", default="") or None
        options = {"bucket_name": bucket, "endpoint_url": endpoint, "file_overwrite": True, "default_acl": None}
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    return None


def secret_key() -> str:
    """Return ``SECRET_KEY``, or a random key that is generated once and kept in the data folder."""
    configured = env.str("SECRET_KEY", default="")
    return configured or embedded_postgres.private_file(loci_home() / "secret_key", secrets.token_urlsafe(64))


def demo_password() -> str:
    """Return ``DEMO_PASSWORD``, or a random one that is generated once and kept in the data folder."""
    configured = env.str("DEMO_PASSWORD", default="")
    return configured or embedded_postgres.private_file(loci_home() / "demo_password", secrets.token_urlsafe(9))


def public_hosts(url: str) -> list[str]:
    """Return the allowed host names: ``ALLOWED_HOSTS``, the host of ``url``, and those of the local machine."""
    public_host = urlsplit(url).hostname or ""
    return [*env.list("ALLOWED_HOSTS", default=[]), public_host, "localhost", "127.0.0.1", "[::1]"]


def is_local(listens_on: str, hosts: list[str]) -> bool:
    """Return whether only this machine reaches the installation: it listens on the loopback and has no other name."""
    return LOOPBACK_HOSTS.issuperset([listens_on, *hosts])


def allowed_addresses(listens_on: str, hosts: list[str]) -> list[str]:
    """Return ``LLM_ALLOWED_ADDRESSES``; without it, private addresses if only this machine reaches the installation.
    ``hosts`` are the names that it answers to.
    """
    return env.list("LLM_ALLOWED_ADDRESSES", default=["private"] if is_local(listens_on, hosts) else [])
