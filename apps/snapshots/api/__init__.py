"""API of snapshots."""
