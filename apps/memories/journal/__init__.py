"""Periods and bullets of the journal, which its model and search need. Pure functions; what writes is apps.journal."""
