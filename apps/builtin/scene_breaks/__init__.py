"""Detect where scenes begin in a chat: marks outside the story, and a small network over vectors and features."""

from apps.builtin.scene_breaks.detection import begins_scene, likelihoods, scene_starts
from apps.extraction.steps.scene_detection import SceneTurn

__all__ = ["SceneTurn", "begins_scene", "likelihoods", "scene_starts"]
