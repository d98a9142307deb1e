"""What all apps share. It imports no other app, and knows nothing that users have but that it has an owner.

Who reads a model needs ``scoping`` (who may see which rows); a view ``problems`` (exceptions that become responses) and
``api`` (fields, parsers, pages of lists); an operation ``database``; a task ``jobs``. The others:

- ``documents``: strict JSON and patches of it. ``settings``: settings that are declared once.
- ``http``: middleware, in the order of ``config.settings.applications``. ``pages``: parts of all pages.
- ``ownership``: what keeps owners apart in the database itself.
- ``registry``, ``on_demand``: how an app above adds something to one below, and is not loaded before it is used.
- ``leases``, ``metrics``: counted in the database for all processes. ``disk``, ``health``, ``heap``: of a process.
- ``stored_texts``: sentences that are translated where they are shown. ``words``: the type of such texts.
"""
