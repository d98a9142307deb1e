"""API of imports and exports of memories."""
