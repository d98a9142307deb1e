"""Parts of the REST API: pagination, strict fields, problem responses, the OpenAPI document."""

from apps.common.api.error_messages import install

# Here and not when the app gets ready: a process that serves no API doesn't load REST framework.
install()
