"""The only writes to connections, usage and limits."""

import re
from typing import Any

import httpx2
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from apps.common import clock
from apps.common.problems import FieldError, Invalid, Missing
from apps.llm.addresses import AddressNotAllowed, AddressPolicy, host_of
from apps.llm.encryption import seal
from apps.llm.events import announce_embedding_change
from apps.llm.models import Connection, TokenLimit, Usage

KEY = re.compile(r"[\x21-\x7e]{1,1000}")
LEAST_HINTED = 12  # characters of a key; of a shorter one the hint would be too large a part


def address_policy() -> AddressPolicy:
    """Which addresses the operator allows."""
    return AddressPolicy.parse(settings.LLM_ALLOWED_ADDRESSES)


def create_connection(owner: Any, *, api_key: str = "", **fields: Any) -> Connection:
    """A new connection, used for nothing yet. Raises Invalid."""
    connection = Connection(owner_id=owner.pk)
    _assign(connection, fields)
    set_key(connection, api_key)
    connection.save(force_insert=True)
    return connection


@transaction.atomic
def update_connection(connection: Connection, *, api_key: str | None = None, **changes: Any) -> None:
    """Change what is named. An ``api_key`` of None stays, an empty one is removed; it stays with its server only.

    A connection that loses the model that it was used for is used for it no longer. Raises Invalid, Missing.
    """
    stored = Connection.objects.for_owner(connection.owner_id).select_for_update().filter(pk=connection.pk).first()
    if stored is None:
        raise Missing("There is no such connection.")
    before = stored.base_url
    _assign(stored, changes)
    if api_key is not None:
        set_key(stored, api_key)
    elif stored.api_key and origin_of(before) != origin_of(stored.base_url):
        raise Invalid.at("/api_key", "The address leads to another server: enter the key for it, or remove the key.")
    stored.for_generation = stored.for_generation and bool(stored.model)
    stored.for_embeddings = stored.for_embeddings and bool(stored.embedding_model)
    stored.save()
    announce_embedding_change(stored.owner_id)
    connection.refresh_from_db()


@transaction.atomic
def use_for(connection: Connection, generation: bool | None = None, embeddings: bool | None = None) -> None:
    """Use the connection for something, in place of the one that was, or no longer; None stays as it is.

    Raises Invalid where it names no model for that.
    """
    own = Connection.objects.for_owner(connection.owner_id)
    list(own.select_for_update().order_by("pk").values_list("pk"))  # one change at a time
    for purpose, model, used in (
        ("for_generation", "model", generation),
        ("for_embeddings", "embedding_model", embeddings),
    ):
        if used is None:
            continue
        if used and not getattr(connection, model):
            raise Invalid.at(f"/{model}", "Name a model first.")
        if used:
            own.exclude(pk=connection.pk).filter(**{purpose: True}).update(**{purpose: False})
        _set(connection, **{purpose: used})
    if embeddings is not None:
        announce_embedding_change(connection.owner_id)


def delete_connection(connection: Connection) -> None:
    """What it was used for goes back to what Loci brings. Its usage stays counted."""
    connection.delete()
    announce_embedding_change(connection.owner_id)


def note_check(connection: Connection, error: str) -> None:
    """That the connection was tested just now, and what was wrong."""
    _set(connection, checked_at=clock.now(), check_error=error)


def set_key(connection: Connection, key: str) -> None:
    """Seal the key and remember how it ends; nothing is saved. Raises Invalid."""
    key = key.strip()
    if key and not KEY.fullmatch(key):
        raise Invalid.at("/api_key", "A key has letters, digits and signs only: no blanks, no line breaks.")
    connection.api_key = seal(key) if key else b""
    connection.api_key_hint = key[-4:] if len(key) >= LEAST_HINTED else ""


def record_usage(owner: Any, model: str, prompt_tokens: int, completion_tokens: int) -> None:
    """Add a call to what the owner took today."""
    taken = {"calls": 1, "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    Usage.objects.for_owner(owner).update_or_create(
        owner_id=getattr(owner, "pk", owner),
        day=clock.now().date(),
        model=model,
        defaults={name: F(name) + value for name, value in taken.items()},
        create_defaults=taken,
    )


def set_daily_limit(owner: Any, daily_tokens: int | None) -> None:
    """The limit that the owner wants, beneath what the operator grants; None is none of one's own."""
    TokenLimit.objects.for_owner(owner).update_or_create(
        owner_id=getattr(owner, "pk", owner), defaults={"own_daily_tokens": daily_tokens}
    )


def _set(connection: Connection, **values: Any) -> None:
    """Store these fields alone; where the connection was deleted meanwhile, nothing."""
    for name, value in values.items():
        setattr(connection, name, value)
    Connection.objects.for_owner(connection.owner_id).filter(pk=connection.pk).update(**values)


def _assign(connection: Connection, fields: dict[str, Any]) -> None:
    """Set fields, each checked. Raises Invalid."""
    for name, value in fields.items():
        setattr(connection, name, value.strip() if isinstance(value, str) else value)
    try:
        connection.clean_fields(exclude={"owner"})
    except ValidationError as error:
        wrong = [FieldError(f"/{name}", " ".join(said)) for name, said in error.message_dict.items()]
        raise Invalid("The connection can't be stored like this.", errors=wrong) from error
    try:
        address_policy().checked_url(connection.base_url)
    except AddressNotAllowed as error:
        raise Invalid.at("/base_url", str(error)) from error


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Where a key goes: the scheme, the host and the port of a URL that was checked."""
    parsed = httpx2.URL(url)
    return parsed.scheme, host_of(parsed), parsed.port
