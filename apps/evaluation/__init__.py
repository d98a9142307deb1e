"""Measure the memory engine: ``manage.py evaluate``, its data formats and metrics, and the fits of learned weights."""
