from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class LlmConfig(AppConfig):
    name = "apps.llm"

    def ready(self) -> None:
        """Register the built-in backend and the checks, and check the setting of allowed addresses."""
        from apps.common.on_demand import on_demand
        from apps.llm import checks  # noqa: F401 - registers them
        from apps.llm.generation import BUILTIN, register_backend
        from apps.llm.http.addresses import AddressPolicy

        register_backend(BUILTIN, on_demand("apps.llm.backends.builtin:BuiltinBackend"))
        try:
            AddressPolicy.parse(settings.LLM_ALLOWED_ADDRESSES)
        except ValueError as error:
            raise ImproperlyConfigured(f"LLM_ALLOWED_ADDRESSES: {error}") from error
