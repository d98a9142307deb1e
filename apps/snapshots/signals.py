"""Signals of snapshots. Apps of higher layers connect their receivers in ``AppConfig.ready()``."""

from django.dispatch import Signal

# Sent with ``owner_id`` inside the transaction that has put the rows of a snapshot in the place of the owner's.
snapshot_restored = Signal()
