"""Parts of the REST API: pagination, strict fields, problem responses, the OpenAPI document."""
