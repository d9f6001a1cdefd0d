"""The processes of a drill's site: `up` with all it keeps, and a second cluster beside it."""

import json
import os
import signal
import subprocess
from pathlib import Path

from tests.drill import clock, processes
from tests.drill.plan import FALLBACK_MODEL, SHARED_MODEL, Plan
from tests.drill.processes import Found
from tests.drill.scales import SCALED
from tests.ports import free_port

INHERITED = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
# Set, though empty: a set-up's own .env must not reach the drill.
NOT_OURS = ("POLZA_API_KEY", "EMAIL_HOST", "MORE_PROVIDERS")


class House:
    def __init__(self, folder: Path, plan: Plan, settings: dict[str, str]) -> None:
        self.folder = folder
        self.point_file = folder / "point"
        self.ports = {name: free_port() for name in ("web", "sandbox", "proxy", "relay")}
        models = [*(each.model for each in plan.rounds), SHARED_MODEL]
        self.env = {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            **dict.fromkeys(NOT_OURS, ""),
            **SCALED,
            "DJANGO_SETTINGS_MODULE": "tests.drill.settings",
            "PYTHONPATH": str(processes.ROOT),
            "DATA_DIR": str(folder / "data"),
            "SECRET_KEY": "of-a-drill-alone-" + "x" * 40,
            "PORT": str(self.ports["web"]),
            "SANDBOX_PORT": str(self.ports["sandbox"]),
            "SANDBOX_URL": f"http://127.0.0.1:{self.ports['proxy']}",
            "PUBLIC_URL": f"http://127.0.0.1:{self.ports['relay']}",
            "IMAGE_MODELS": ",".join(f"sandbox:{model}" for model in models),
            "IMAGE_FALLBACK": f"sandbox:{FALLBACK_MODEL}",
            "WORKERS": "3",
            # Its customers come from this machine, without a proxy of ours, faster than people do.
            "RATE_LIMITS": "OFF",
            "TRUSTED_PROXIES": "0",
            "NEW_VISITORS_A_DAY": "100000",
            "COUNTERFOIL_FAULTPOINT_FILE": str(self.point_file),
            clock.VARIABLE: str(folder / "clock"),
            **settings,
        }
        self.url = f"http://127.0.0.1:{self.ports['web']}"
        self.log_file = (folder / "site.log").open("ab")
        self._up: subprocess.Popen[bytes] | None = None
        self._second: subprocess.Popen[bytes] | None = None

    def tend(self) -> None:
        """`up` keeps the rest; this keeps `up`, and the second cluster."""
        if self._up is None or self._up.poll() is not None:
            self._up = processes.start(processes.manage("up"), self.env, self.log_file)
        if self.is_migrated() and (self._second is None or self._second.poll() is not None):
            self._end_rest_of_second()
            self._second = processes.start(processes.manage("cluster"), self.env, self.log_file)

    def is_migrated(self) -> bool:
        """`up` starts its children once the database is ready."""
        return (self.folder / "data" / "up.json").exists()

    def leaders(self) -> dict[str, int]:
        try:
            record = json.loads((self.folder / "data" / "up.json").read_text())
        except (OSError, ValueError):
            return {}
        ours = {found.pid for found in self.processes()}
        pids = {name: entry["pid"] for name, entry in record["children"].items()}
        return {name: pid for name, pid in pids.items() if pid in ours}

    def processes(self) -> list[Found]:
        parents = [child.pid for child in (self._up, self._second) if child]
        return [found for pid in parents for found in processes.below(pid)]

    def target(self, name: str, pick: float) -> tuple[int, bool] | None:
        """A process and whether its whole group is meant; None when none is there now."""
        if name == "up":
            return (self._up.pid, False) if self._up and self._up.poll() is None else None
        if name == "second":
            return (self._second.pid, True) if self._second else None
        if name in ("cluster", "ticker", "web", "sandbox"):
            pid = self.leaders().get(name)
            return (pid, name != "ticker") if pid else None
        parts = [found for found in self.processes() if found.name == name]
        return (parts[int(pick * len(parts))].pid, False) if parts else None

    def wake_all(self) -> None:
        for found in self.processes():
            if found.state in "Tt":
                processes.send(found.pid, signal.SIGCONT)

    def logs(self) -> str:
        return (self.folder / "site.log").read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        self.wake_all()
        self._end_rest_of_second()
        if self._up:
            processes.end(self._up, signal.SIGTERM, seconds=12)
        self.log_file.close()

    def _end_rest_of_second(self) -> None:
        if self._second:
            processes.send(self._second.pid, signal.SIGKILL, group=True)
            self._second.wait()
