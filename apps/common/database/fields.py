"""Custom model fields."""

import json
from functools import partial
from typing import Any

from django.db import models
from psycopg.types.json import Json

from apps.common.stored_texts import StoredText, from_json, msgid_of, to_json

START = '{"msgid":'  # of a stored text with values in a column; no other text is read as JSON

_dump_compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


class OrderedJSONField(models.JSONField):
    """JSON stored in a ``json`` column, which keeps the order of keys, unlike ``jsonb``.

    Use it for documents that are imported and exported unchanged, not for columns that are queried.
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return Json(value, dumps=_dump_compact)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # psycopg parses `json` columns; Django parses only `jsonb` ones itself.
        return value


class StoredTextField(models.TextField):
    """Column of a stored text, or of one by others, such as a server's error.

    A text without values is stored as its msgid, the English sentence. So are those that were stored with values before
    there were msgids: they stay English.
    """

    def deconstruct(self) -> Any:
        """Return the field for migrations, for which it is a TextField: the column is the same."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        if isinstance(value, StoredText) and value.params:
            return json.dumps(to_json(value))
        return msgid_of(value)

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        if value is None or not value.startswith(START):
            return value and StoredText(value)
        try:
            text = from_json(json.loads(value))
            str(text).encode()  # JSON may escape half a character, which no response can be written with
        except (ValueError, RecursionError):  # an archive may have anything in this column
            return value
        return text if isinstance(text, StoredText) else value


class StoredTextsField(OrderedJSONField):
    """JSON document that may contain stored texts."""

    def deconstruct(self) -> Any:
        """Return the field for migrations, for which it is an OrderedJSONField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "apps.common.database.fields.OrderedJSONField", args, kwargs

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(to_json(value), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return from_json(super().from_db_value(value, expression, connection))
