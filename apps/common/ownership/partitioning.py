"""System checks that tables can be partitioned by owner, as ``docs/scaling.md`` describes.

A partition key has to be part of every unique key. A key that holds a row of an owner may be extended by the owner
without another meaning: all that belongs to this row has the same owner, as ``check_integrity`` makes sure. An index
that is not unique needs no owner.

A model without an owner says why by ``WITHOUT_OWNER``; an owned one by ``KEYS_WITHOUT_OWNER`` why keys of it are unique
over all owners.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.core import checks
from django.db import models

from apps.common.scoping import OwnedModel

LINKS = "links rows of an owner, whom the row at its first end names"


def check_owners(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Return an error for each table, and for each unique key, that neither has an owner nor says why."""
    return [*_ownerless_tables(), *_ownerless_keys()]


def tables_without_owner() -> dict[str, str]:
    """Return why tables have no owner, by their names; an empty text where that is not said."""
    reasons = {model._meta.db_table: getattr(model, "WITHOUT_OWNER", "") for model in _product_models(owned=False)}
    links = [model for model in apps.get_models(include_auto_created=True) if model._meta.auto_created]
    return reasons | {model._meta.db_table: LINKS for model in links if _own_keys(model)}


def keys_without_owner(model: type[models.Model]) -> Iterator[str]:
    """Yield the unique keys of an owned model, the primary key aside, that can't simply be extended by the owner."""
    own = {*_own_keys(model), "owner"}
    for name, columns in _unique_keys(model):
        if not own & columns:
            yield name


def _ownerless_tables() -> Iterator[checks.Error]:
    for model in _product_models(owned=False):
        if not getattr(model, "WITHOUT_OWNER", ""):
            yield checks.Error(
                "The table has no owner.", hint="Use OwnedModel or WITHOUT_OWNER.", obj=model, id="common.E001"
            )


def _ownerless_keys() -> Iterator[checks.Error]:
    for model in _product_models(owned=True):
        reasons: Mapping[str, str] = getattr(model, "KEYS_WITHOUT_OWNER", {})
        for name in keys_without_owner(model):
            if name not in reasons:
                text = f"The unique key {name} names neither the owner nor a row of theirs."
                yield checks.Error(text, hint="Add the owner, or KEYS_WITHOUT_OWNER.", obj=model, id="common.E002")


def _product_models(*, owned: bool) -> Iterator[type[models.Model]]:
    for model in apps.get_models():
        if model.__module__.startswith("apps.") and issubclass(model, OwnedModel) == owned:
            yield model


def _own_keys(model: type[models.Model]) -> set[str]:
    """Return the names of the foreign keys to rows of owners."""
    keys = (field for field in model._meta.fields if isinstance(field, models.ForeignKey) and field.name != "owner")
    return {key.name for key in keys if issubclass(key.remote_field.model, OwnedModel)}


def _unique_keys(model: type[models.Model]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name and the columns of each unique key but the primary one."""
    for field in model._meta.fields:
        if field.unique and not field.primary_key:
            yield field.name, {field.name}
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            named = {name for expression in constraint.expressions for name in _names_in(expression)}
            yield constraint.name, {*constraint.fields, *named}


def _names_in(expression: Any) -> Iterator[str]:
    """Yield the names of the columns of an expression."""
    if isinstance(expression, models.F):
        yield expression.name  # type: ignore[attr-defined]
    else:
        for part in expression.get_source_expressions():
            yield from _names_in(part)
