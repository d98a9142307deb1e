"""Extraction of memories: runs and their progress, the tiers that a pipeline reads for, prompts and parsers, memory
settings, the suitability test of models, and embedding jobs; with their pages and API.
"""
