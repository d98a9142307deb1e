"""Django's backend of Postgres, with row-level security for the owner that a request or a task works for."""
