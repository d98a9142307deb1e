"""Periods and bullets of the journal. Without database access."""
