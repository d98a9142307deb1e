"""How a run reads messages: the list of tiers, the stages, and the one call that asks for several tiers.

``registry.py`` has all tiers by name, ``stages.py`` the stages of a run. ``one_call.py`` asks for several tiers at
once, with what ``known_material.py`` finds, then about what is uncertain; ``reply_parts.py`` divides both replies.
"""
