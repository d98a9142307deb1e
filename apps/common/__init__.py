"""What every app shares and no product model knows: ids, problem+json errors, pagination, owner scoping,
strict JSON.
"""
