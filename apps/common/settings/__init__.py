"""Settings, declared once: validation, inheritance, forms, API and documentation follow from the declaration."""
