"""Measures the memory engine on data sets: search, dedup, scene breaks, extraction. Nothing of them is kept."""
