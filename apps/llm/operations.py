"""All writes to connections, usage and limits."""

import re
from typing import Any

import httpx2
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.common.database.ids import uuid7
from apps.common.database.rows import first_or_missing
from apps.common.jobs import lock_owner
from apps.common.metrics import count
from apps.common.problems import FieldError, Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.llm.apis import BROWSER, SERVER_APIS
from apps.llm.http.addresses import AddressNotAllowed, address_policy, host_of, is_local_url
from apps.llm.models import Connection, TokenLimit, new_embedding_space
from apps.llm.signals import announce_embedding_change, announce_generation_change

LOCAL_PARALLEL_CALLS = 1
HOSTED_PARALLEL_CALLS = 4
MAX_KEY_LENGTH = 1000
KEY_PATTERN = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY_LENGTH}}}")
MIN_KEY_LENGTH_FOR_HINT = 12  # characters of a key; a hint would reveal too much of a shorter one
ADD_USAGE = """
    INSERT INTO llm_usage AS usage (id, owner_id, day, model, calls, prompt_tokens, completion_tokens)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (owner_id, day, model) DO UPDATE SET
        calls = usage.calls + excluded.calls,
        prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = usage.completion_tokens + excluded.completion_tokens
"""


@transaction.atomic
def create_connection(owner: Owner, *, api_key: str = "", **fields: Any) -> Connection:
    """Create a connection that is not yet in use. ``parallel_calls`` None is chosen by the server. Raise Invalid."""
    connection = Connection(owner_id=owner_id_of(owner))
    _assign(connection, {"parallel_calls": None} | fields)
    set_key(connection, api_key)
    if connection.backend == BROWSER:
        _check_first_in_browser(connection)
    connection.save(force_insert=True)
    return connection


def _check_first_in_browser(connection: Connection) -> None:
    """Raise Invalid if the owner has a connection to a model in the browser already."""
    lock_owner(connection.owner_id)
    if Connection.objects.for_owner(connection.owner_id).filter(backend=BROWSER).exists():
        raise Invalid.at("/backend", gettext("You have a connection to a model in the browser. Change that one."))


@transaction.atomic
def update_connection(connection: Connection, *, api_key: str | None = None, **changes: Any) -> None:
    """Change the given fields. None as ``api_key`` keeps the key, "" removes it.

    A key is never sent to another server, so a change of the server requires the key again. Removing a model stops the
    use that requires it. What the last test found is forgotten. Raise Invalid, Missing.
    """
    stored = first_or_missing(
        Connection.objects.for_owner(connection.owner_id).select_for_update().filter(pk=connection.pk),
        gettext("There is no such connection."),
    )
    if (stored.backend == BROWSER) != (changes.get("backend", stored.backend) == BROWSER):
        raise Invalid.at(
            "/backend", gettext("A model in the browser and a model server are different connections: add another.")
        )
    old_url, old_source = stored.base_url, _source_of_vectors(stored)
    _assign(stored, changes)
    if _source_of_vectors(stored) != old_source:
        stored.embedding_space, stored.embedding_dimensions = new_embedding_space(), None
    if api_key is not None:
        set_key(stored, api_key)
    elif stored.api_key and origin_of(old_url) != origin_of(stored.base_url):
        raise Invalid.at(
            "/api_key", gettext("The address leads to another server: enter the key for it, or remove the key.")
        )
    stored.for_generation = stored.for_generation and bool(stored.model)
    stored.for_embeddings = stored.for_embeddings and bool(stored.embedding_model)
    stored.checked_at, stored.check_error, stored.constrains_replies = None, "", None  # the test was of other values
    stored.save()
    announce_embedding_change(stored.owner_id)
    announce_generation_change(stored.owner_id)
    connection.refresh_from_db()


@transaction.atomic
def use_for(connection: Connection, generation: bool | None = None, embeddings: bool | None = None) -> None:
    """Start (True) or stop (False) using the connection for a purpose; None changes nothing.

    Starting stops the use of the owner's other connections. Raise Invalid if the model for it is not set.
    """
    own = Connection.objects.for_owner(connection.owner_id)
    list(
        own.select_for_update().order_by("pk").values_list("pk")
    )  # lock, against concurrent changes of the same purpose
    for purpose, model, used in (
        ("for_generation", "model", generation),
        ("for_embeddings", "embedding_model", embeddings),
    ):
        if used is None:
            continue
        if used and not getattr(connection, model):
            raise Invalid.at(f"/{model}", gettext("Enter a model first."))
        if used:
            own.exclude(pk=connection.pk).filter(**{purpose: True}).update(**{purpose: False})
        _update(connection, **{purpose: used})
    if embeddings is not None:
        announce_embedding_change(connection.owner_id)
    if generation is not None:
        announce_generation_change(connection.owner_id)


def delete_connection(connection: Connection) -> None:
    """Delete the connection. Its owner falls back to Loci's own backends; its usage is kept."""
    connection.delete()
    announce_embedding_change(connection.owner_id)
    announce_generation_change(connection.owner_id)


def record_check(connection: Connection, error: str, constrains_replies: bool | None) -> None:
    """Record the time of a connection test, its error, "" if it passed, and whether the server constrains replies.

    A connection that was changed while it was tested stays untested.
    """
    connection.checked_at, connection.check_error = timezone.now(), error
    connection.constrains_replies = constrains_replies
    tested = Connection.objects.for_owner(connection.owner_id).filter(
        pk=connection.pk, updated_at=connection.updated_at
    )
    is_recorded = tested.update(
        checked_at=connection.checked_at, check_error=error, constrains_replies=constrains_replies
    )
    if is_recorded and not error:
        announce_generation_change(connection.owner_id)


def stop_constraining(connection: Connection) -> None:
    """Record that the server does not constrain replies after all. Later ones are asked for as lines of text."""
    _update(connection, constrains_replies=False)


def set_key(connection: Connection, key: str) -> None:
    """Set the key and its hint without saving. Raise Invalid."""
    key = key.strip()
    if key and connection.backend == BROWSER:
        raise Invalid.at("/api_key", gettext("A model in the browser has no key."))
    if key and not KEY_PATTERN.fullmatch(key):
        raise Invalid.at(
            "/api_key", gettext("A key may only contain letters, digits and symbols: no spaces, no line breaks.")
        )
    connection.api_key = key
    connection.api_key_hint = key[-4:] if len(key) >= MIN_KEY_LENGTH_FOR_HINT else ""


def record_dimensions(connection: Connection, dimensions: int) -> bool:
    """Record the length of the vectors that the server sends. Return False if it has changed.

    Vectors of another length begin a new vector space, so that the old ones are recomputed.
    """
    stored = Connection.objects.for_owner(connection.owner_id).filter(
        pk=connection.pk, embedding_space=connection.embedding_space
    )
    if stored.filter(embedding_dimensions=None).update(embedding_dimensions=dimensions):
        connection.embedding_dimensions = dimensions
    elif connection.embedding_dimensions is None:
        known = stored.values_list("embedding_dimensions", flat=True).first()  # another process has recorded it
        connection.embedding_dimensions = known or dimensions
    if connection.embedding_dimensions == dimensions:
        return True
    if stored.update(embedding_space=new_embedding_space(), embedding_dimensions=dimensions):
        announce_embedding_change(connection.owner_id)
    return False


def record_usage(owner: Owner, model: str, prompt_tokens: int, completion_tokens: int) -> None:
    """Add a call to the owner's usage of today."""
    count("loci_model_calls_total")
    count("loci_model_tokens_total", prompt_tokens, direction="sent")
    count("loci_model_tokens_total", completion_tokens, direction="received")
    values: list[Any] = [uuid7(), owner_id_of(owner), timezone.now().date(), model, 1, prompt_tokens, completion_tokens]
    with connection.cursor() as cursor:
        cursor.execute(ADD_USAGE, values)


def set_daily_limit(owner: Owner, daily_tokens: int | None) -> None:
    """Set the owner's own limit; None removes it. The operator's limit applies where it is lower."""
    TokenLimit.objects.for_owner(owner).update_or_create(
        owner_id=owner_id_of(owner), defaults={"own_daily_tokens": daily_tokens}
    )
    announce_generation_change(owner_id_of(owner))


def _update(connection: Connection, **values: Any) -> None:
    """Update these columns only. Do nothing if the connection has been deleted in the meantime."""
    for name, value in values.items():
        setattr(connection, name, value)
    Connection.objects.for_owner(connection.owner_id).filter(pk=connection.pk).update(**values)


def _assign(connection: Connection, fields: dict[str, Any]) -> None:
    """Set and validate fields without saving. Raise Invalid."""
    for name, value in fields.items():
        setattr(connection, name, value.strip() if isinstance(value, str) else value)
    if connection.parallel_calls is None:
        connection.parallel_calls = default_parallel_calls(connection.backend, connection.base_url)
    try:
        connection.clean_fields(exclude={"owner"})
    except ValidationError as error:
        errors = [FieldError(f"/{name}", " ".join(texts)) for name, texts in error.message_dict.items()]
        raise Invalid(gettext("The connection is not valid."), errors=errors) from error
    if connection.backend == BROWSER:
        _check_no_server(connection)
    else:
        _check_address(connection)


def _check_no_server(connection: Connection) -> None:
    """Raise Invalid if a connection to a model in the browser has what only a server has."""
    if connection.base_url:
        raise Invalid.at("/base_url", gettext("A model in the browser has no address."))
    if connection.embedding_model:
        raise Invalid.at("/embedding_model", gettext("A model in the browser computes no search vectors."))


def _check_address(connection: Connection) -> None:
    try:
        check_base_url(connection.base_url)
    except AddressNotAllowed as error:
        raise Invalid.at("/base_url", str(error)) from error


def check_base_url(url: str) -> None:
    """Raise AddressNotAllowed for an address that no connection may have. Its host isn't resolved."""
    if address_policy().checked_url(url).query:
        raise AddressNotAllowed(gettext("It must not contain “?”; enter the key in its own field."))


def default_parallel_calls(backend: str, url: str) -> int:
    """Return how many calls at a time a server gets: one if it is local, since its calls share one processor."""
    local_backends = [BROWSER, *(name for name, api in SERVER_APIS.items() if api.is_local)]
    is_local = backend in local_backends or is_local_url(url)
    return LOCAL_PARALLEL_CALLS if is_local else HOSTED_PARALLEL_CALLS


def _source_of_vectors(connection: Connection) -> tuple[str, str, str]:
    return connection.backend, connection.base_url, connection.embedding_model


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a checked URL."""
    parsed = httpx2.URL(url)
    return parsed.scheme, host_of(parsed), parsed.port
