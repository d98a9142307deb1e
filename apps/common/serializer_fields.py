"""REST framework's fields without their guesses: a number is no string, and a string no number."""

from typing import Any
from uuid import UUID

from rest_framework import serializers


class Text(serializers.CharField):
    """A JSON string, kept as it is; may be empty unless said otherwise."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_blank": True, "trim_whitespace": False} | kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """A JSON true or false."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("It must be true or false.")
        return data


class Integer(serializers.IntegerField):
    """A JSON number without a fraction."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class Identifier(serializers.UUIDField):
    """A UUID, as a JSON string."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=type(data).__name__)
        return super().to_internal_value(data)


class Position(Integer):
    """A place in a list or a text: a whole number from 0 on, as large as the database takes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": 2**31 - 1} | kwargs)


class JSONObject(serializers.DictField):
    """A JSON object with any content."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_a_dict", input_type=type(data).__name__)
        return data


class StrictSerializer(serializers.Serializer[Any]):
    """An object of which every key is known."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                raise serializers.ValidationError({key: ["This is not a field here."] for key in unknown})
        return super().to_internal_value(data)
