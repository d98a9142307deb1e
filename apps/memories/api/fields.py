"""Serializer fields of the memories API."""

from collections.abc import Callable
from typing import Any

from django.core.validators import RegexValidator
from django.db.models import QuerySet
from rest_framework import serializers

from apps.accounts.instance_names import INSTANCE_NAME
from apps.common.api.serializer_fields import TextField


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


class OwnedRelatedField(serializers.PrimaryKeyRelatedField[Any]):
    """The id of one of the requester's rows. ``queryset_of`` is a function that returns the rows of a user."""

    def __init__(self, queryset_of: Callable[[Any], QuerySet[Any]], **kwargs: Any) -> None:
        self.queryset_of = queryset_of
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> QuerySet[Any]:
        return self.queryset_of(self.context["request"].user)
