"""Row-level security: the database keeps the rows of owners apart, whatever a statement says.

Requests and tasks use the role RESTRICTED_ROLE, for which each owned table has a policy: rows of the owner that
OWNER_SETTING names. The role that ``DATABASE_URL`` names owns the tables and sees all rows: ``system_scope()``,
management commands and migrations use it. ``apps.common.database.postgresql`` switches between them.
"""

import time
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import InternalError, OperationalError, ProgrammingError, connections, models

from apps.common.database.restriction import OWNER_SETTING, RESTRICTED_ROLE
from apps.common.scoping import OwnedModel

POLICY = "own_rows"
# In a subquery, the setting is read once for a statement, and not for each row.
OWNER = f"(SELECT nullif(current_setting('{OWNER_SETTING}', true), '')::uuid)"
TRIES = 10  # databases of one server share its roles, and their migrations may run at the same time

CREATE_ROLE = f"CREATE ROLE {RESTRICTED_ROLE} NOLOGIN"
GRANT_ROLE = f"GRANT {RESTRICTED_ROLE} TO CURRENT_USER"
GRANTS = "; ".join(
    f"GRANT USAGE ON SCHEMA {schema} TO {RESTRICTED_ROLE};"
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {RESTRICTED_ROLE};"
    f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {RESTRICTED_ROLE};"
    f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema}"
    f" GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {RESTRICTED_ROLE};"
    f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO {RESTRICTED_ROLE}"
    for schema in ("public", "pgmq")
)


def secure_database(using: str, **kwargs: Any) -> None:
    """Create the role, its privileges and the policies, as far as they don't exist. Receives ``post_migrate``."""
    connection = connections[using]
    _secure_role(connection)
    with connection.cursor() as cursor:
        cursor.execute(GRANTS)
        cursor.execute("SELECT tablename FROM pg_policies WHERE policyname = %s", [POLICY])
        secured = {name for (name,) in cursor.fetchall()}
        existing = set(connection.introspection.table_names(cursor))
        for table, condition in policies():
            if table in existing - secured:
                cursor.execute(f"CREATE POLICY {POLICY} ON {table} TO {RESTRICTED_ROLE} USING ({condition})")
                cursor.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def _secure_role(connection: Any) -> None:
    for left in reversed(range(TRIES)):
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [RESTRICTED_ROLE])
                if cursor.fetchone() is None:
                    cursor.execute(CREATE_ROLE)
                cursor.execute("SELECT pg_has_role(%s, 'MEMBER')", [RESTRICTED_ROLE])
                if not cursor.fetchone()[0]:
                    cursor.execute(GRANT_ROLE)
            return
        except (InternalError, OperationalError, ProgrammingError):  # another database's migration did the same
            if not left or connection.in_atomic_block:
                raise
            time.sleep(0.1)


def policies() -> Iterator[tuple[str, str]]:
    """Yield each table of rows that belong to users, and the condition of the rows that may be seen and written."""
    for model in apps.get_models(include_auto_created=True):
        if issubclass(model, OwnedModel):
            yield model._meta.db_table, f"owner_id = {OWNER}"
        elif model._meta.auto_created and (owned := _owned_end(model)):
            table = owned.remote_field.model._meta.db_table
            here = f"{model._meta.db_table}.{owned.column}"
            yield model._meta.db_table, f"EXISTS (SELECT FROM {table} AS owned WHERE owned.id = {here})"


def _owned_end(model: type[models.Model]) -> Any:
    """Return the first foreign key to owned rows of a table of links, whose policy then applies."""
    keys = (field for field in model._meta.fields if isinstance(field, models.ForeignKey))
    return next((key for key in keys if issubclass(key.remote_field.model, OwnedModel)), None)
