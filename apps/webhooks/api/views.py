"""API views of webhooks and deliveries."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.pagination import NewestFirstPagination
from apps.common.database.rows import first_or_missing
from apps.webhooks import operations
from apps.webhooks.api.serializers import (
    CreatedWebhookSerializer,
    DeliverySerializer,
    WebhookCreateSerializer,
    WebhookSerializer,
    WebhookUpdateSerializer,
)
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.operations import access_webhook


class WebhookListView(generics.GenericAPIView[Webhook]):
    """List the webhooks, newest first, or create one. The reply to its creation alone has its secret."""

    serializer_class = WebhookSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Webhook]:
        return Webhook.objects.for_owner(self.request.user)

    @extend_schema(responses=WebhookSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the webhooks, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(WebhookSerializer(page, many=True).data)

    @extend_schema(request=WebhookCreateSerializer, responses={201: CreatedWebhookSerializer})
    def post(self, request: Request) -> Response:
        """Create a webhook. This reply alone has its secret."""
        body = WebhookCreateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        webhook = operations.create_webhook(request.user, **body.validated_data)
        return Response(CreatedWebhookSerializer(webhook).data, status=status.HTTP_201_CREATED)


class WebhookView(APIView):
    """Read, change or delete a webhook."""

    @extend_schema(responses=WebhookSerializer)
    def get(self, request: Request, webhook_id: UUID) -> Response:
        """Return a webhook, without its secret."""
        return Response(WebhookSerializer(access_webhook(request.user, webhook_id)).data)

    @extend_schema(request=WebhookUpdateSerializer, responses=WebhookSerializer)
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        """Change a webhook."""
        webhook = access_webhook(request.user, webhook_id)
        body = WebhookUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        operations.update_webhook(webhook, **body.validated_data)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Delete a webhook, with its deliveries."""
        access_webhook(request.user, webhook_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class WebhookTestView(APIView):
    """Send a test to a webhook, whose delivery tells whether it arrives."""

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, webhook_id: UUID) -> Response:
        delivery = operations.send_test(access_webhook(request.user, webhook_id))
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_202_ACCEPTED)


class DeliveryListView(generics.GenericAPIView[Delivery]):
    """List the deliveries of a webhook, newest first. Those that ended are kept for 30 days."""

    serializer_class = DeliverySerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Delivery]:
        return Delivery.objects.for_owner(self.request.user).filter(webhook=self.kwargs.get("webhook_id"))

    @extend_schema(responses=DeliverySerializer(many=True))
    def get(self, request: Request, webhook_id: UUID) -> Response:
        access_webhook(request.user, webhook_id)
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(DeliverySerializer(page, many=True).data)


class DeliveryRetryView(APIView):
    """Send a delivery again, at once."""

    @extend_schema(request=None, responses=DeliverySerializer)
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        rows = Delivery.objects.for_owner(request.user).filter(webhook=webhook_id, pk=delivery_id)
        delivery = first_or_missing(rows, "There is no such delivery.")
        operations.retry(delivery)
        return Response(DeliverySerializer(delivery).data)
