"""Model fields that Django does not have."""

import json
from typing import Any

from django.db import models
from psycopg.types.json import Json


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class OrderedJSONField(models.JSONField):
    """A JSON value in a column of type ``json``, which keeps the order of keys (``jsonb`` does not).

    For documents that came from elsewhere and must go back as they came. Not for columns that are searched.
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return Json(value, dumps=_dump)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # psycopg has already read a `json` column; Django reads `jsonb` itself.
        return value
