"""Serializer fields of the memories API."""

import json
from collections.abc import Callable
from typing import Any

from django.core.validators import RegexValidator
from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.authentication import namespace_of
from apps.accounts.instance_names import INSTANCE_NAME
from apps.chats.models import MAX_TAG_LENGTH, MAX_TAGS
from apps.common.api.serializer_fields import BoundedListField, JSONObjectField, TextField
from apps.common.problems import Invalid
from apps.common.scoping import MAX_NAMESPACE_LENGTH
from apps.memories.memory_filters import MEMORY_FILTER

MAX_METADATA_SIZE = 16_384  # characters


class RoundedFloatField(serializers.FloatField):
    """A number that is rounded to four decimal places in responses."""

    def to_representation(self, value: Any) -> Any:
        return round(float(value), 4)


class NonBlankTextField(TextField):
    """A JSON string that contains more than white space."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=False, **kwargs)
        self.validators.append(_validate_not_blank)


class InstanceNameField(TextField):
    """The short name of an instance."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_blank": False} | kwargs)
        self.validators.append(RegexValidator(INSTANCE_NAME, "It must be 1 to 64 of a-z, 0-9 and the hyphen."))


def _validate_not_blank(text: str) -> None:
    if not text.strip():
        raise serializers.ValidationError("It must contain more than white space.")


class NamespaceField(TextField):
    """The name of a namespace: of an end user of the requester's application, or empty for the requester's own."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": MAX_NAMESPACE_LENGTH} | kwargs)


def bound_namespace(request: Any, named: str | None) -> str | None:
    """Return the namespace that a request is about: ``named``, or the one that its token is bound to.

    Raise Invalid if it names another one.
    """
    bound = namespace_of(request)
    if bound and named not in (None, "", bound):
        raise Invalid.at("/namespace", "This token is for another namespace.")
    return bound or named


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": True,
        "description": "Conditions, which all hold: of fields, with operators, joined by `and`, `or` and `not`.",
        "example": {"tags": {"any": ["work"]}, "metadata.score": {"gte": 3}, "not": {"kind": "event"}},
    }
)
class FilterField(serializers.Field[Q, Any, Any, Any]):
    """Conditions of memories. Unknown fields and operators are refused by name."""

    def to_internal_value(self, data: Any) -> Q:
        return MEMORY_FILTER.read(data, (self.field_name or "filter",))


class TagField(TextField):
    """A tag of a memory."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": MAX_TAG_LENGTH, "allow_blank": False} | kwargs)


class TagListField(BoundedListField):
    """The tags of a memory. Repeated ones are left out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=TagField(), **{"max_length": MAX_TAGS} | kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(super().to_internal_value(data)))


class MetadataField(JSONObjectField):
    """A JSON object of a client, of limited size."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        metadata = super().to_internal_value(data)
        if len(json.dumps(metadata)) > MAX_METADATA_SIZE:
            raise serializers.ValidationError(f"It may have at most {MAX_METADATA_SIZE} characters as JSON.")
        return metadata


class OwnedRelatedField(serializers.PrimaryKeyRelatedField[Any]):
    """The id of one of the requester's rows. ``queryset_of`` is a function that returns the rows of a user.

    With a token that is bound to a namespace, only rows of this are there; ``namespace`` is the lookup of theirs.
    """

    def __init__(
        self, queryset_of: Callable[[Any], QuerySet[Any]], *, namespace: str = "namespace", **kwargs: Any
    ) -> None:
        self.queryset_of = queryset_of
        self.namespace = namespace
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> QuerySet[Any]:
        request = self.context["request"]
        rows = self.queryset_of(request.user)
        bound = namespace_of(request)
        return rows.filter(**{self.namespace: bound}) if bound else rows
