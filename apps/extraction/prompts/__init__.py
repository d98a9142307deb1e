"""What a language model is asked: a template for each task, which a user may replace, and its rendering.

What people and characters said is data: it stands between marks that nothing within can imitate.
"""
