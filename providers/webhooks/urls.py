"""Addresses that providers call."""

from django.urls import path

from providers.webhooks import views

urlpatterns = [
    path("<slug:provider>/<slug:token>/", views.take_webhook, name="hook"),
]
