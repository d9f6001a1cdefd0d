"""A provider by Polza's contract behind a gateway of a scripted kind. Each prompt has a run, and
each run a picture, of a colour of its own."""

import io
import json
import threading
import time
from collections.abc import Callable

from PIL import Image

from tests.providers.messages import WAYS, Way
from tests.providers.scripted import Line, ScriptedServer

Colour = tuple[int, int, int]
PLAIN = WAYS["length"]


class OddProvider:
    """`takes` seconds a run. `way` is how it sends its JSON, and pictures too where it
    `spoils_pictures`; `answer_poll` sends the answer to a poll in its place."""

    def __init__(
        self,
        answer_poll: "Callable[[Line, OddProvider, str], None] | None" = None,
        *,
        takes: float = 0.0,
        way: Way = PLAIN,
        spoils_pictures: bool = False,
    ) -> None:
        self.answer_poll, self.takes, self.way = answer_poll, takes, way
        self.way_of_pictures = way if spoils_pictures else PLAIN
        self.began: dict[str, float] = {}
        self.prompts: dict[str, str] = {}
        self.polls = 0
        self.lock = threading.Lock()
        self.server = ScriptedServer(self._serve)
        self.url = self.server.url

    def __enter__(self) -> "OddProvider":
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.stop()

    def status(self, reference: str) -> bytes:
        """What is true of the run."""
        if time.monotonic() < self.began[reference] + self.takes:
            return json.dumps({"id": reference, "status": "processing"}).encode()
        data = {"url": f"{self.url}/f/{reference}"}
        usage = {"cost_rub": 5}
        said = {"id": reference, "status": "completed", "data": data, "usage": usage}
        return json.dumps(said).encode()

    def _serve(self, line: Line) -> None:
        is_open = True
        while is_open:
            line.received = b""
            line.read_request()
            if not line.received:
                return
            head, _, body = line.received.partition(b"\r\n\r\n")
            method, path, _ = head.decode().split(" ", 2)
            name = path.rpartition("/")[2]
            if method == "POST":
                is_open = _send(line, self._begin(json.loads(body)["input"]["prompt"]), self.way)
            elif path.startswith("/f/"):
                is_open = _send(line, build_picture_row(self.prompts[name]), self.way_of_pictures)
            else:
                is_open = self._answer_poll(line, name)

    def _answer_poll(self, line: Line, reference: str) -> bool:
        with self.lock:
            self.polls += 1
        if self.answer_poll is None:
            return _send(line, self.status(reference), self.way)
        self.answer_poll(line, self, reference)
        return True

    def _begin(self, prompt: str) -> bytes:
        with self.lock:
            reference = f"gen_{len(self.began) + 1}"
            self.began[reference], self.prompts[reference] = time.monotonic(), prompt
        return json.dumps({"id": reference, "status": "pending"}).encode()


def _send(line: Line, body: bytes, way: Way) -> bool:
    """False where the connection is over."""
    line.send(way.build(body))
    if way.then == "resets":
        line.reset()
    return way.then == "waits"


def colour_of(prompt: str) -> Colour:
    """Of the number at the prompt's end."""
    number = int(prompt.rpartition("p")[2])
    return (number * 9 % 256, number * 37 % 256, number * 101 % 256)


def build_picture_row(prompt: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), colour_of(prompt)).save(buffer, "PNG")
    return buffer.getvalue()


def after_hints(line: Line, provider: OddProvider, reference: str) -> None:
    line.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
    time.sleep(0.1)
    line.answer(200, provider.status(reference))


def of_another(line: Line, provider: OddProvider, reference: str) -> None:
    """Two of three answers are about the run that began before."""
    names = list(provider.began)
    shift = 0 if provider.polls % 3 == 0 else 1
    line.answer(200, provider.status(names[names.index(reference) - shift]))
