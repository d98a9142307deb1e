"""The API and its OpenAPI document."""

# Who refuses a request before its view, in the form of whose API, by the beginning of the path; else in plain text.
ERROR_FORMS = {
    "/api/": "apps.common.api.problems.problem_response",
    "/v1/": "apps.proxy.errors.error_response",
    "/mcp": "apps.common.api.problems.problem_response",
    "/mem0/": "apps.common.api.problems.problem_response",
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "apps.accounts.authentication.TokenScope",
        "apps.accounts.suspension.NotSuspended",
        "apps.common.api.parameters.KnownParameters",
    ],
    "DEFAULT_RENDERER_CLASSES": ["apps.common.api.json_formats.CompactJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.common.api.json_formats.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.common.api.problems.exception_handler",
    # `?format=` is a parameter of exports, not a choice of the renderer.
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Loci",
    "DESCRIPTION": (
        "Memory for long conversations with language models. Bodies may come with `Content-Encoding: gzip`; replies "
        "are compressed for clients that accept it."
    ),
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "GET_LIB_DOC_EXCLUDES": "apps.common.api.schema.undescribed_classes",
    "ENUM_NAME_OVERRIDES": {
        "MemoryKindEnum": "apps.memories.models.Memory.Kind",
        "EntityKindEnum": "apps.memories.models.Entity.Kind",
        "KnowledgeKindEnum": "apps.memories.models.Knowledge.Kind",
        "GenerationModeEnum": "apps.replies.models.Generation.Mode",
        "ConsolidatedGranularityEnum": "apps.memories.journal.periods.CONSOLIDATED",
        "WrittenGranularityEnum": "apps.memories.journal.periods.WRITTEN",
        "SharedTierEnum": "apps.instances.operations.targets.TIER_CHOICES",
        "JobStateEnum": "apps.common.jobs.STATES",
        "ReportReasonEnum": "apps.moderation.models.Reason",
        "ReportedKindEnum": "apps.moderation.models.Kind",
        "WebhookEventEnum": "apps.webhooks.models.Event",
        "MemoryModeEnum": "apps.memories.models.lineage.ChatMemory.Mode",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.common.api.schema.describe_write_headers",
        "apps.common.api.schema.describe_problems",
        "config.api_examples.add_examples",
    ],
}
