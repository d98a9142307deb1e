"""Serializer fields without type coercion: a number is not accepted in place of a string, or vice versa.

Functions that validate requests with serializers are here too.
"""

from typing import Any, NoReturn, TypeVar
from uuid import UUID

from django.db.models import Model
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from apps.common.problems import MAX_ERRORS

Row = TypeVar("Row", bound=Model)


class TextField(serializers.CharField):
    """JSON string, not trimmed; may be empty by default."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_blank": True, "trim_whitespace": False} | kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """JSON true or false."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("It must be true or false.")
        return data


class StrictIntegerField(serializers.IntegerField):
    """JSON number without a fraction."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class NumberField(serializers.FloatField):
    """JSON number, kept unchanged: 1 does not become 1.0."""

    def to_internal_value(self, data: Any) -> int | float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class StrictUUIDField(serializers.UUIDField):
    """UUID in a JSON string."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=type(data).__name__)
        return super().to_internal_value(data)


class OwnedField(serializers.PrimaryKeyRelatedField[Row]):
    """The id of something of the user, or null. The text "" is no id."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        # Skips RelatedField's own, which takes "" as null.
        return super(serializers.RelatedField, self).run_validation(data)


class ChoiceField(serializers.ChoiceField):
    """One of some values, which the error message lists."""

    def fail(self, key: str, **values: Any) -> NoReturn:
        if key in ("required", "null"):
            super().fail(key, **values)
        choices = ", ".join(map(str, self.choices))
        raise serializers.ValidationError(f"It must be one of: {choices}.", code=key)


class PositionField(StrictIntegerField):
    """Index in a list or text: an integer from 0 to the maximum of a database integer."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": 2**31 - 1} | kwargs)


class BoundedListField(serializers.ListField):
    """List of a maximum length, which is checked before the items: validating them is what takes the time."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


class JSONObjectField(serializers.DictField):
    """JSON object with any content."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_a_dict", input_type=type(data).__name__)
        return data


class StrictSerializer(serializers.Serializer[Any]):
    """Serializer that refuses unknown keys."""

    def to_internal_value(self, data: Any) -> Any:
        keys = sorted(set(data) - set(self.fields))[:MAX_ERRORS] if isinstance(data, dict) else []
        unknown = {key: ["It is unknown."] for key in keys}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if unknown and isinstance(error.detail, dict):  # what is missing comes first: its name may be misspelt
                raise serializers.ValidationError({**error.detail, **unknown}) from None
            raise
        if unknown:
            raise serializers.ValidationError(unknown)
        return values


def read_body(
    serializer_class: type[serializers.BaseSerializer[Any]], request: Request, **options: Any
) -> dict[str, Any]:
    """Return the validated body of a request. Raise ValidationError if it is invalid."""
    body = serializer_class(data=request.data, context={"request": request}, **options)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def read_query(serializer_class: type[serializers.BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    """Return the validated query parameters of a request. Raise ValidationError if they are invalid."""
    query = serializer_class(data=request.query_params)
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)
