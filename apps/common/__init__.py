"""Foundations shared by all apps: ids, owner scoping, strict JSON and patches, problem responses, pagination, health.

Imports no other app.
"""
