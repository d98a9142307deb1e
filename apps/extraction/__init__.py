"""Extraction of memories: runs and their progress, the pipeline with its stages, prompts and reply parsers, memory
settings, the suitability test of models, and embedding jobs; with their pages and API.
"""
