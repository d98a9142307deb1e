"""What the API says of a value that is not valid, in its own words instead of REST framework's.

Each begins with "It": the pointer tells what that is, and in the detail of the problem ``FieldError.sentence`` does.
"""

from rest_framework import relations, serializers

TEXT_LENGTHS = {
    "min_length": "It can't have fewer characters than {min_length:,}.",
    "max_length": "It can have at most {max_length:,} characters.",
}
LIST_LENGTHS = {
    "not_a_list": "It must be a list.",
    "empty": "It can't be empty.",
    "min_length": "It can't have fewer items than {min_length:,}.",
    "max_length": "It can have at most {max_length:,} items.",
}
NUMBER_LIMITS = {
    "min_value": "It must be at least {min_value}.",
    "max_value": "It can be at most {max_value}.",
    "max_string_length": "It has too many digits.",
}
MESSAGES: dict[type[serializers.Field], dict[str, str]] = {
    serializers.Field: {"required": "It is missing.", "null": "It can't be null."},
    serializers.Serializer: {"invalid": "It must be an object."},
    serializers.ListSerializer: LIST_LENGTHS,
    serializers.ListField: LIST_LENGTHS,
    serializers.DictField: {"not_a_dict": "It must be an object.", "empty": "It can't be empty."},
    serializers.BooleanField: {"invalid": "It must be true or false."},
    serializers.CharField: TEXT_LENGTHS | {"invalid": "It must be a string.", "blank": "It can't be empty."},
    serializers.UUIDField: {"invalid": "It must be a UUID."},
    serializers.IntegerField: NUMBER_LIMITS | {"invalid": "It must be a whole number."},
    serializers.FloatField: NUMBER_LIMITS | {"invalid": "It must be a number.", "overflow": "It is too large."},
    serializers.DecimalField: NUMBER_LIMITS
    | {
        "invalid": "It must be a number.",
        "max_digits": "It can have at most {max_digits} digits.",
        "max_decimal_places": "It can have at most {max_decimal_places} decimal places.",
        "max_whole_digits": "It can have at most {max_whole_digits} digits before the decimal point.",
    },
    serializers.DateField: {
        "invalid": "It must be a date such as 2026-11-21.",
        "datetime": "It must be a date without a time.",
    },
    serializers.DateTimeField: {
        "invalid": "It must be a time such as 2026-11-21T09:30:00Z.",
        "date": "It must be a time, not only a date.",
        "overflow": "It is too early or too late.",
    },
    serializers.FileField: {
        "required": "It is missing.",
        "invalid": "It must be a file.",
        "no_name": "It must have a name.",
        "empty": "It is empty.",
    },
    serializers.JSONField: {"invalid": "It must be JSON."},
    relations.PrimaryKeyRelatedField: {
        "required": "It is missing.",
        "does_not_exist": "It doesn't exist.",
        "incorrect_type": "It must be an id.",
    },
}


def install() -> None:
    """Set the default messages of REST framework's fields."""
    for field, messages in MESSAGES.items():
        field.default_error_messages = {**getattr(field, "default_error_messages", {}), **messages}
