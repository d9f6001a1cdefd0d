"""The addresses of the site, and the order form of the trio, where any order is one too many."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from jobs.web.views.limited import limited_page
from jobs.web.views.pages import show
from quotas.ratelimit.limiter import Limited, Rule
from tests.jobs.kinds import trio


def new_trio(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return limited_page(request, Limited(Rule("orders", 1, 60), 30))
    return show(request, "trio/new.html", part="trio/form.html", context={"form": trio.TrioForm()})


urlpatterns = [path("trios/new", new_trio, name="new_trio"), path("", include("config.urls"))]
