"""The card of a recall under its user message: what it shows, edits and compares."""
