"""Polza's routes, a file host, and the bill at `/_ledger`.

Order of a submit: count it, check it, execute it into the bill, then answer or lose the answer.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from providers.sandbox import answers, tricks
from providers.sandbox.bill import Bill, Generation
from providers.sandbox.drawing import draw_picture, paint_picture
from providers.sandbox.faults import Fault
from providers.sandbox.framing import send_interim
from providers.sandbox.odd_pictures import ODD_PICTURES
from providers.sandbox.orders import (
    HistoryPage,
    Order,
    Refusal,
    model_asked_for,
    read_history_page,
    read_key_digest,
    read_order,
)
from providers.sandbox.webhooks import Sender
from providers.sandbox.wire import Line, Listener

MAX_BODY = 32 * 2**20
HOLD_SYNC_FOR = 120
SLOW_MINUTES = {"slow_14": 14, "slow_16": 16, "slow_40": 40}
LISTED_AFTER_MINUTES = {"list_lag": 3}
BROKEN_LISTINGS = 2
FOREIGN_LISTINGS = 2
LOOK_ALIKES = {"list_two", "header_id"}


class SandboxListener(Listener):
    bill: Bill
    hooks: Sender
    seconds: float
    minute: float

    def runs_for(self, fault: Fault) -> float:
        minutes = SLOW_MINUTES.get(fault.name)
        return self.seconds if minutes is None else minutes * self.minute

    def listed_at(self, generation: Generation) -> float:
        minutes = LISTED_AFTER_MINUTES.get(generation.fault.name, 0)
        return generation.executed_at + minutes * self.minute


class Routes(Line):
    server: SandboxListener

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_GET(self) -> None:
        self._answer(self._get)

    def _answer(self, route: Callable[[], None]) -> None:
        try:
            route()
        except Refusal as exc:
            self.reply(exc.status, answers.error(exc.code, exc.message))
        except sqlite3.Error:
            # A run that cannot be billed is not executed, and its answer is not sent.
            self.reply(503, answers.error("SERVICE_UNAVAILABLE", "Сервис временно недоступен"))

    def _post(self) -> None:
        body = self._read_body()
        if urlsplit(self.path).path != "/v1/media":
            raise _not_found()
        work = self.headers.get("X-Sandbox-Work", "")
        submits = self.server.bill.count_submit(work, model_asked_for(body))
        order = read_order(self.headers, body)
        trick = tricks.submit_trick(order.fault, submits=submits)
        if not tricks.is_executed(order.fault, submits=submits):
            assert trick, f"{order.fault.name} neither executes nor answers"
            return trick(self, b"")
        generation = self.server.bill.execute(
            order, now=time.time(), seconds=self.server.runs_for(order.fault)
        )
        self._hint(generation)
        self._promise_webhook(generation, order.callback_url)
        if order.fault.name in LOOK_ALIKES:
            self._run_look_alike(order)
        answer = answers.as_json(answers.accepted(generation))
        if trick:
            return trick(self, answer)
        if not order.is_async:
            self._hold_until_done(generation)
            answer = self._look_at(generation, poll=0)
        # Documented as 200 in one place and as 201 in another.
        return self.reply(200 if answers.is_even(generation) else 201, answer)

    def _run_look_alike(self, order: Order) -> None:
        """As if another client had used the key. It is none of the work's runs."""
        twin = replace(order, work=f"a look-alike of {order.work}")
        self.server.bill.execute(twin, now=time.time(), seconds=self.server.runs_for(order.fault))

    def _promise_webhook(self, generation: Generation, url: str) -> None:
        self.server.hooks.promise(
            generation, url, base_url=self._base_url(), minute=self.server.minute
        )

    def _hold_until_done(self, generation: Generation) -> None:
        left = generation.completes_at - time.time()
        self.server.stopping.wait(min(max(left, 0), HOLD_SYNC_FOR))

    def _get(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        match url.path.strip("/").split("/"):
            case ["v1", "media", generation_id]:
                self._poll(generation_id)
            case ["v1", "history", "generations"]:
                self._list_history(read_key_digest(self.headers), read_history_page(query))
            case ["v1", "history", "generations", generation_id]:
                read_key_digest(self.headers)
                row = answers.history_row(self._find(generation_id), now=time.time())
                self.reply(200, answers.as_json(row))
            case ["v1", "balance"]:
                read_key_digest(self.headers)
                self.reply(200, answers.as_json({"amount": str(self.server.bill.balance())}))
            case ["f", name]:
                self._fetch(name, query.get("issued", ""))
            case [".well-known", "jwks.json"]:
                self.reply(200, answers.as_json(self.server.hooks.signer.jwks()))
            case ["_ledger"]:
                self.reply(200, answers.as_json(self.server.bill.ledger(query.get("work"))))
            case _:
                raise _not_found()

    def _poll(self, generation_id: str) -> None:
        read_key_digest(self.headers)
        generation = self._find(generation_id)
        self._hint(generation)
        poll = next(generation.polls)
        subject = generation
        if tricks.is_about_another(generation.fault, poll=poll):
            subject = self.server.bill.stranger_to(generation)
        answer = self._look_at(subject, poll=0 if subject is not generation else poll)
        trick = tricks.poll_trick(generation.fault, poll=poll)
        if trick:
            trick(self, answer)
        else:
            self.reply(200, answer)

    def _hint(self, generation: Generation) -> None:
        if generation.fault.name == "interim":
            send_interim(self)

    def _look_at(self, generation: Generation, *, poll: int) -> bytes:
        """The answer at this moment. A failure is on the bill as reported before it is sent."""
        now = time.time()
        status = answers.status_told(generation, now=now, poll=poll)
        if status in answers.FAILURES:
            self.server.bill.tell_failure(generation, now=now)
        return answers.as_json(answers.media(generation, status, base_url=self._base_url()))

    def _list_history(self, key_digest: str, page: HistoryPage) -> None:
        found = self.server.bill.generations_between(
            key_digest=key_digest, since=page.since, until=page.until
        )
        if any(_breaks_listing(generation) for generation in found):
            raise Refusal(500, "INTERNAL_ERROR", "Внутренняя ошибка сервера")
        for asked in filter(None, map(_foreign_listing, found)):
            foreign = answers.foreign_history(page, asked=asked, since=page.since)
            return self.reply(200, answers.as_json(foreign))
        if found:
            self._hint(found[-1])
        now = time.time()
        listed = [generation for generation in found if self.server.listed_at(generation) <= now]
        rows, total = answers.history(listed, page, now=now)
        meta = {"page": page.page, "limit": page.limit, "total": total}
        return self.reply(200, answers.as_json({"items": rows, "meta": meta}))

    def _fetch(self, name: str, issued: str) -> None:
        """Results are public; a client that shows us its key here would show it to anyone."""
        generation = self._find(name.removesuffix(".png"))
        if "Authorization" in self.headers:
            self.server.bill.note_leaked_key(generation)
        if answers.status_of(generation, now=time.time()) != "completed":
            raise _not_found()
        self._hint(generation)
        trick = tricks.file_trick(
            generation,
            download=next(generation.downloads),
            issued=int(issued) if issued.isdecimal() else 0,
        )
        picture, media_type = _file_of(generation)
        if trick:
            trick(self, picture)
        else:
            self.reply(200, picture, media_type)

    def _find(self, generation_id: str) -> Generation:
        generation = self.server.bill.find(generation_id)
        if generation is None:
            raise _not_found()
        return generation

    def _base_url(self) -> str:
        """Ours by the name the client called us, so that results come from the origin it knows."""
        return f"{'https' if self.server.tls else 'http'}://{self.headers['Host']}"

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refusal(413, "PAYLOAD_TOO_LARGE", "Слишком большой запрос")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionResetError("the client left in the middle of its request")
        return body


def _breaks_listing(generation: Generation) -> bool:
    return generation.fault.name == "list_fails" and next(generation.listings) <= BROKEN_LISTINGS


def _foreign_listing(generation: Generation) -> int:
    """Which of the foreign lists it is listed in now; 0 for none."""
    asked = next(generation.listings) if generation.fault.name == "list_foreign" else 0
    return asked if asked <= FOREIGN_LISTINGS else 0


def _file_of(generation: Generation) -> tuple[bytes, str]:
    prompt, aspect_ratio, run = generation.prompt, generation.aspect_ratio, generation.id
    odd = ODD_PICTURES.get(generation.fault.name)
    if odd:
        encode, media_type = odd
        return encode(paint_picture(prompt, aspect_ratio, run=run)), media_type
    return draw_picture(prompt, aspect_ratio, run=run), "image/png"


def _not_found() -> Refusal:
    return Refusal(404, "NOT_FOUND", "Не найдено")
