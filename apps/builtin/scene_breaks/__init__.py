"""Where scenes begin in a chat: separators, headings and pauses, and what the narration tells of time and place.

What is said in a message is thrown away; of what is narrated, plans, habits, guesses and memories move nothing. What
no rule sees may still be likely: cues and the meaning of a message's opening are weighed.
"""

from apps.builtin.scene_breaks.detection import begins_scene, scene_starts
from apps.builtin.scene_breaks.turns import Break, Turn
from apps.builtin.scene_breaks.weighing import likelihoods

__all__ = ["Break", "Turn", "begins_scene", "likelihoods", "scene_starts"]
