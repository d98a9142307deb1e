"""API of imports and exports."""
