"""Makes the jobs of the live bench, prints where they are looked at, and changes them when told."""

import json
import sys
import time
import uuid

import django


def main() -> None:
    django.setup()
    from django.core.signing import get_cookie_signer
    from django.db import transaction
    from django.utils import timezone

    from jobs.core import transitions
    from jobs.people.visitors import COOKIE, COOKIE_SALT
    from jobs.pictures.orders import PictureOrder, order_picture
    from providers.adapters.registry import offers
    from quotas import accounts

    jobs, visits = [], []
    for number in range(int(sys.argv[1])):
        visitor = f"bench-{number}-{uuid.uuid4().hex}"
        order = PictureOrder(prompt=f"fox {number}", aspect_ratio="1:1", offer=offers()[0])
        job = order_picture(
            account=accounts.account_of_visitor(visitor),
            order=order,
            form_key=uuid.uuid4().hex,
            now=timezone.now(),
            network="127.0.0.1",
        )
        cookie = get_cookie_signer(salt=COOKIE + COOKIE_SALT).sign(visitor)
        jobs.append(job.pk)
        visits.append({"path": f"/jobs/{job.pk}/stream", "cookie": f"{COOKIE}={cookie}"})
    print(json.dumps(visits), flush=True)
    for line in sys.stdin:
        with transaction.atomic():
            for number in map(int, line.split()):
                transitions.record_event(jobs[number], event="accepted", now=timezone.now())
        print(time.time(), flush=True)


if __name__ == "__main__":
    main()
