"""What the proxy saw: which run each round has, what left the site, and what came back whole."""

from collections.abc import Callable

from providers.sandbox.tricks import RUN_HEADER
from tests.drill.messages import ReplySoFar, Request
from tests.drill.plan import FALLBACK_MODEL, Plan, Round
from tests.fault_ends import expect

LATEST = 40
WAYS = {"/v1/media": "poll", "/f": "file", "/v1/history": "list"}


class Traffic:
    """`answered`: run -> when its submit's answer was handed over whole; `named`: run -> when the
    head that names it was; `asked`: the token of each request that left the site -> its work;
    `silences`: from when until when the provider wished not to be asked; `polled`: when each poll
    left the site; `fetched`: run and moment of each file that was handed over whole."""

    def __init__(self, plan: Plan, time: Callable[[], float]) -> None:
        self.time = time
        self.answered: dict[str, float] = {}
        self.named: dict[str, float] = {}
        self.asked: dict[str, str] = {}
        self.silences: list[tuple[float, float]] = []
        self.polled: list[float] = []
        self.fetched: list[tuple[str, float]] = []
        self.round_of_token: dict[str, Round] = {}
        self._by_model = {each.model: each for each in plan.rounds}
        self._by_work: dict[str, Round] = {}
        self._by_run: dict[str, Round] = {}
        self._completed: set[str] = set()
        self._awaiting_list: list[Round] = []

    def way_of(self, request: Request) -> tuple[str, Round | None]:
        """Which kind of request it is, and the round that it belongs to."""
        if request.method == "POST":
            return self._way_of_submit(request)
        place, _, run = request.place.rpartition("/")
        way = WAYS.get(place, "")
        if way == "poll":
            self.polled.append(self.time())
        if way == "list":
            return way, self._awaiting_list.pop(0) if self._awaiting_list else None
        return way, self._by_run.get(run.removesuffix(".png"))

    def _way_of_submit(self, request: Request) -> tuple[str, Round | None]:
        asked = request.json()
        work, model = request.headers.get("x-sandbox-work", ""), asked.get("model", "")
        token = token_in(asked)
        self.asked[token] = work
        if model == FALLBACK_MODEL:
            return "fallback", self._by_work.get(work)
        of_round = self._by_model.get(model)
        if of_round:
            self._by_work[work] = of_round
            self.round_of_token[token] = of_round
            if of_round.on_list:
                self._awaiting_list.append(of_round)
        return "submit", of_round

    def about_another(self, request: Request) -> Request | None:
        """The same poll about another customer's run, if possible a finished one. None where
        either of the two does not end with a picture of its own."""
        own = request.place.rpartition("/")[2]
        asking = self._by_run[own]
        others = [
            run
            for run, of_round in list(self._by_run.items())[-LATEST:]
            if of_round.customer != asking.customer and _is_delivered(of_round)
        ]
        if not others or not _is_delivered(asking):
            return None
        finished = [run for run in others if run in self._completed]
        return request.about(f"/v1/media/{(finished or others)[-1]}")

    def learn(self, request: Request, reply: ReplySoFar) -> None:
        said = reply.json()
        run = said.get("id")
        if request.method == "POST":
            of_round = self._by_model.get(request.json().get("model", "")) if run else None
            if of_round:
                self._by_run[str(run)] = of_round
        elif said.get("status") == "completed" and run:
            self._completed.add(str(run))

    def note_named(self, reply: ReplySoFar) -> None:
        run = reply.headers.get(RUN_HEADER.lower())
        if run:
            self.named.setdefault(run, self.time())

    def note_whole(self, request: Request, reply: ReplySoFar) -> None:
        """It was handed over, every byte of it."""
        run = reply.json().get("id")
        if request.method == "POST" and 200 <= reply.status < 300 and run:
            self.answered[str(run)] = self.time()
        elif request.place.startswith("/f/") and reply.status == 200 and reply.is_whole:
            name = request.place.removeprefix("/f/").removesuffix(".png")
            self.fetched.append((name, self.time()))
        self.note_silence(request, reply.status, reply.headers.get("retry-after", ""))

    def note_silence(self, request: Request, status: int, seconds: str) -> None:
        is_poll = request.place.startswith("/v1/media/")
        if is_poll and status == 429 and seconds.isdecimal():
            self.silences.append((self.time(), self.time() + int(seconds)))


def _is_delivered(of_round: Round) -> bool:
    return expect(of_round.fault).job == "ready"


def token_in(asked: dict) -> str:
    """Of the address to report to, which the call's row has as well."""
    hook = str(asked.get("input", {}).get("callBackUrl", "")).rstrip("/")
    return hook.rpartition("/")[2]
