"""People who order by the site's own pages: each a visitor with a cookie. A form is sent again
until it is answered.
"""

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import requests

from tests.drill.plan import SHARED_MODEL, Round

AT_ONCE = 8
AGAIN_AFTER = 0.5
PATIENCE = 90.0
HASTE = 6.0


@dataclass(frozen=True)
class Order:
    form_key: str
    visitor: str
    status: int
    """303: taken, 429: refused by the quota, 0: no answer in time."""
    began: float
    ended: float


class Customers:
    def __init__(self, url: str, now: Callable[[], float]) -> None:
        self.url, self.now = url, now
        self.orders: list[Future[Order]] = []
        self.is_over = threading.Event()
        self._sessions: dict[int, tuple[requests.Session, threading.Lock]] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="customer")

    def order(self, each: Round) -> None:
        self._send(each.customer, each.model, each.fault, f"round {each.number}, {each.fault}")

    def order_more(self, customer: int) -> None:
        """One more than there are slots, unless some were given back."""
        self._send(customer, SHARED_MODEL, "ok", "one more")

    def finish(self) -> list[Order]:
        self._pool.shutdown(wait=True)
        return [future.result() for future in self.orders]

    def stop(self) -> None:
        self.is_over.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _send(self, customer: int, model: str, fault: str, prompt: str) -> None:
        fields = {
            "prompt": prompt,
            "aspect_ratio": "1:1",
            "model": f"sandbox:{model}",
            "fault": fault,
            "form_key": secrets.token_urlsafe(24),
        }
        session = self._sessions.setdefault(customer, (requests.Session(), threading.Lock()))
        self.orders.append(self._pool.submit(self._insist, *session, fields))

    def _insist(
        self, session: requests.Session, lock: threading.Lock, fields: dict[str, str]
    ) -> Order:
        began, status = self.now(), 0
        give_up_at = time.monotonic() + PATIENCE
        while time.monotonic() < give_up_at and not self.is_over.is_set():
            try:
                with lock:
                    self._come_in(session)
                # Several forms of one person are on their way at once.
                status = self._post(session, fields)
            except requests.RequestException:
                status = 0
            if status in (303, 429):
                break
            self.is_over.wait(AGAIN_AFTER)
        visitor = (session.cookies.get("visitor") or "").strip('"').partition(":")[0]
        taken = status if status in (303, 429) else 0
        return Order(fields["form_key"], visitor, taken, began, self.now())

    def _come_in(self, session: requests.Session) -> None:
        """The first page gives the visitor's cookie and the token of forms."""
        if not {"visitor", "csrftoken"} <= set(session.cookies.keys()):
            session.get(f"{self.url}/images/new?form={secrets.token_urlsafe(24)}", timeout=HASTE)

    def _post(self, session: requests.Session, fields: dict[str, str]) -> int:
        token = {"csrfmiddlewaretoken": session.cookies.get("csrftoken") or ""}
        answer = session.post(
            f"{self.url}/images/new", data={**fields, **token}, timeout=HASTE, allow_redirects=False
        )
        return answer.status_code
