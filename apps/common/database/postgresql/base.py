"""The connection, which Django finds here by name."""

from typing import Any

from django.db.backends.postgresql import base, operations
from psycopg.errors import FeatureNotSupported
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Identifier, Literal

from apps.common.database.restriction import OWNER_SETTING, RESTRICTED_ROLE, restriction

UNKNOWN = "unknown"
ServerBindingCursor: Any = base.ServerBindingCursor


class DatabaseOperations(operations.DatabaseOperations):
    """Operations that tell of prepared statements as of others, for logs and tests."""

    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> Any:
        """Return the statement with its parameters in their places."""
        if isinstance(cursor, ServerBindingCursor):
            return str(self.compose_sql(sql, params))
        return super().last_executed_query(cursor, sql, params)


class PreparedCursor(ServerBindingCursor):
    """Cursor whose statements the server prepares."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Execute a statement, prepared again if a migration has changed the type of a column that it returns.

        A failed transaction can't go on; its rollback discards what is prepared.
        """
        try:
            return self._execute_prepared(*args, **options)
        except FeatureNotSupported:
            if self.connection.info.transaction_status == TransactionStatus.INERROR:
                raise
            self._execute_prepared("DEALLOCATE ALL", prepare=False)
            return self._execute_prepared(*args, **options)

    def _execute_prepared(self, *args: Any, **options: Any) -> Any:
        # Else the driver would keep the text of the last statements of other cursors, with all values in them.
        self.connection.prepare_threshold = 0
        try:
            return super().execute(*args, **options)
        finally:
            self.connection.prepare_threshold = None


class DatabaseWrapper(base.DatabaseWrapper):
    """Connection that takes the role and the owner of ``restriction()`` before a statement, where they have changed."""

    ops_class = DatabaseOperations
    applied: str | None = UNKNOWN

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection, which may come from the pool with what its last user had applied."""
        self.applied = UNKNOWN
        return super().get_new_connection(conn_params)

    def _configure_connection(self, connection: Any) -> bool:
        """Plan prepared statements once, also where the server supposes that a plan for the values would be better.

        Planning takes longer than the difference. Return whether the connection needs a commit.
        """
        super()._configure_connection(connection)  # type: ignore[misc]
        connection.execute("SET plan_cache_mode = force_generic_plan")
        return True

    def prepared_cursor(self) -> Any:
        """Return a cursor whose statements the server parses and plans once for each connection.

        The server gets parameters apart from the statement, so that it must be able to infer their types, and its plan
        is the same for all of their values.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            self.apply_restriction()
            return self._prepare_cursor(PreparedCursor(self.connection))  # type: ignore[attr-defined]

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor for statements that see what ``restriction()`` allows."""
        self.apply_restriction()
        return super().create_cursor(name)

    def apply_restriction(self) -> None:
        """Take the role and the owner. A failed transaction accepts nothing but its end."""
        wanted = restriction()
        if wanted == self.applied or self.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        role = SQL("NONE") if wanted is None else Identifier(RESTRICTED_ROLE)
        # Not by SELECT set_config(): after a query, a transaction can't change its isolation level any more.
        statements = SQL("SET ROLE {}; SET {} = {}").format(
            role, Identifier(*OWNER_SETTING.split(".")), Literal(wanted or "")
        )
        with self.wrap_database_errors, self.connection.cursor() as cursor:
            cursor.execute(statements)
        self.applied = wanted

    def _commit(self) -> None:
        if self.connection is not None and self.connection.info.transaction_status == TransactionStatus.INERROR:
            self.applied = UNKNOWN  # a failed transaction is rolled back
        super()._commit()  # type: ignore[misc]

    def _rollback(self) -> None:
        super()._rollback()  # type: ignore[misc]
        self.applied = UNKNOWN  # a rollback takes back what was applied in its transaction

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        self.applied = UNKNOWN
