"""Who somebody is: users who sign in by e-mail, their preferences, and the personal API tokens
with which other programs act for them.
"""
