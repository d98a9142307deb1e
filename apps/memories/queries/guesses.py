"""Tell what the built-in reader guessed from what a model or a person has said."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from apps.llm.generation import BUILTIN
from apps.memories.kinds import NAMING
from apps.memories.models import Entity
from apps.memories.queries.ledger import EntityState
from apps.memories.queries.relationships import RelationshipPair

Entry = TypeVar("Entry", bound=Any)


def divided(entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return the entries of a layer to rely on, and those that are guesses, each in their order.

    A guess is what a run without a model derived, and what nobody has edited since.
    """
    rows = list(entries)
    guessed = guesses_among(rows)
    return [row for row in rows if row.pk not in guessed], [row for row in rows if row.pk in guessed]


def divided_states(states: Sequence[EntityState]) -> tuple[list[EntityState], list[EntityState]]:
    """Return the ledger to rely on and that of guesses. A field is a guess if all of its entries are."""
    guessed = guesses_among([entry for state in states for entry in state.entries])

    def with_fields(state: EntityState, *, guesses: bool) -> EntityState:
        fields = [field for field in state.fields if ({row.pk for row in field.entries} <= guessed) == guesses]
        return replace(state, fields=fields)

    sure, unsure = ([with_fields(state, guesses=guesses) for state in states] for guesses in (False, True))
    return [state for state in sure if state.fields], [state for state in unsure if state.fields]


def divided_pairs(pairs: Sequence[RelationshipPair]) -> tuple[list[RelationshipPair], list[RelationshipPair]]:
    """Return the relationships to rely on and the guesses. A pair is a guess if all of its descriptors are."""
    guessed = guesses_among([row for pair in pairs for row in (*pair.descriptors, *pair.history)])
    unsure = [pair for pair in pairs if {row.pk for row in (*pair.descriptors, *pair.history)} <= guessed]
    return [pair for pair in pairs if pair not in unsure], unsure


def readers_of(entries: Iterable[Any]) -> list[str]:
    """Return the names of the models that have read these entries of a layer."""
    rows = list(entries)
    if not rows:
        return []
    model, owner_id = type(rows[0]), rows[0].owner_id
    found = model.objects.for_owner(owner_id).filter(pk__in=[row.pk for row in rows])
    names = found.exclude(run__backend=BUILTIN).exclude(run__model="").values_list("run__model", flat=True)
    return sorted({gettext(name) for name in names.distinct() if name})


def marked_names(owner_id: UUID, entities: QuerySet[Entity]) -> list[Any]:
    """Return entities with ``is_guess``: whether only runs without a model have named them."""
    guessed = {"run__backend": BUILTIN, "edited_by": ""}
    known = Q()
    for model, column in NAMING:
        rows = model.objects.for_owner(owner_id).filter(**{column: OuterRef("pk")})
        known |= Q(Exists(rows.exclude(**guessed)))
    return list(entities.annotate(is_guess=~known))


def unsure_marker(rows: Iterable[Any]) -> Callable[[Any, str], str]:
    """Return a function that adds "unsure" to the text of those of the rows, all of one layer, that are guesses."""
    guessed, unsure = guesses_among([row for row in rows if row.run_id and not row.edited_by]), gettext("unsure")
    return lambda row, text: f"{text} ({unsure})" if row.pk in guessed else text


def guesses_among(rows: Sequence[Any]) -> set[UUID]:
    """Return the ids of those of the rows, all of one layer, that are guesses."""
    if not rows:
        return set()
    model, owner_id = type(rows[0]), rows[0].owner_id
    ids = [row.pk for row in rows]
    found = model.objects.for_owner(owner_id).filter(pk__in=ids, run__backend=BUILTIN, edited_by="")
    return set(found.values_list("pk", flat=True))
