"""Request or cancel the email about the end of a job."""

import uuid

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from jobs.notifications import notices
from jobs.people.own_rows import NotHere, own_job
from jobs.people.requests import SiteRequest
from jobs.web.views.pages import see_other, tell
from jobs.words.wording import MESSAGES, MessageName


@require_POST
def mail_notice(request: SiteRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    if "take_back" in request.POST:
        notices.take_back(job.pk, timezone.now())
    elif not notices.find_address(job):
        raise NotHere(_("We have no email address for you."))
    elif not notices.ask(job.pk, timezone.now()):
        tell(request, MESSAGES[MessageName.HAD_ENDED])
    return see_other("job", job.pk)
