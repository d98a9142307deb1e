"""What every app shares and no product model knows: ids, clock, problem+json errors, pagination,
owner scoping, strict JSON, and the embedded Postgres with the supervisor behind `manage.py up`.
"""
