"""The database: keys, fields, connections, replicas, row-level security, compiled queries, errors."""
