"""Measures the search on conversations with questions whose answers' places are known."""
