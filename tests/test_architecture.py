"""The shape of the code: who may import whom, and which file alone assigns a state.

Each rule is a function from a file to what it does wrong. It is asked about every file of the
product, and about planted samples: a rule that finds nothing there would hold nothing.
"""

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from tests.package_graph import (
    crowded_folders,
    cycles,
    imported,
    imports_upwards,
    package_graph,
)

ROOMS = {
    "config": {"config", "jobs", "providers", "quotas"},
    "jobs": {"jobs", "providers", "quotas"},
    "providers": {"providers"},
    "quotas": {"quotas"},
}
# Base classes for Django's admin. It knows no app, so quotas and providers may use it.
ADMIN_BASE = "config.admin_base"
# Where requests, orders and tasks come in. Nothing below imports from there.
ENTRANCES = {
    "admin",
    "context",
    "live",
    "management",
    "middleware",
    "processes",
    "staff",
    "tasks",
    "templatetags",
    "urls",
    "views",
    "web",
}
# What makes a job, from the ground up: none imports a later one.
LAYERS = ("core", "settling", "followers", "outcomes", "pictures", "kinds", "engine")
DOWNWARDS = tuple(f"jobs.{layer}" for layer in reversed(LAYERS))
# A kind of job does not know another kind.
KINDS = {"pictures", "contracts"}
EXCEPTIONS: set[tuple[str, str]] = set()
MOST_MODULES = 15
# What everything in a room stands on.
GROUND = {"events", "models", "reasons", "states"}
# The one file that moves a thing from state to state, and what it must not know of.
MOVERS = {
    "jobs/core/transitions.py": {"Attempt", "Call"},
    "providers/calls/ledger.py": {"Attempt", "Job"},
    "quotas/ledger.py": {"Call", "Job"},
}
MAKERS = {**MOVERS, "jobs/pictures/orders.py": {"Attempt", "Call"}}
MOST_LINES = 400
# The banner of `up` is its output.
PRINTING = {"config/management/commands/up.py"}
# A provider's clock is its own; a file's age is the machine's word.
OTHER_CLOCKS = ("providers/sandbox/", "jobs/ops/audit/files.py")
CLOCKS = {"time.time", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
NAMED_MODEL = re.compile(r"^(config|jobs|providers|quotas)\.[A-Z]\w+$")
RAW_STATE = re.compile(r"\bUPDATE\s+(jobs_job|providers_call|quotas_attempt)\b", re.IGNORECASE)


def import_points_up(path: str, code: str) -> Iterator[str]:
    room = path.split("/")[0]
    for module in imported(code):
        if module.split(".")[0] in ROOMS.keys() - ROOMS[room] and not is_admin_base(module):
            yield f"{path} imports {module}"


def admin_base_imports_ours(path: str, code: str) -> Iterator[str]:
    for module in imported(code):
        if is_admin_base(path.removesuffix(".py").replace("/", ".")) and (
            module.split(".")[0] in ROOMS and not is_admin_base(module)
        ):
            yield f"{path} imports {module}"


def sandbox_imports_ours(path: str, code: str) -> Iterator[str]:
    """The sandbox is a program of its own."""
    for module in imported(code):
        is_ours = module.split(".")[0] in ROOMS and not module.startswith("providers.sandbox")
        if path.startswith("providers/sandbox/") and is_ours:
            yield f"{path} imports {module}"


def kind_imports_another(path: str, code: str) -> Iterator[str]:
    kind = layer_of(path.removesuffix(".py").replace("/", "."))
    for module in imported(code):
        if kind in KINDS and layer_of(module) in KINDS - {kind}:
            yield f"{path} imports {module}"


def foreign_key_points_up(path: str, code: str) -> Iterator[str]:
    room = path.split("/")[0]
    for node in ast.walk(ast.parse(code)):
        named = NAMED_MODEL.match(node.value) if is_string(node) else None
        if named and named[1] not in ROOMS[room]:
            yield f"{path}:{node.lineno} refers to {node.value}"


def service_imports_entrance(path: str, code: str) -> Iterator[str]:
    if is_part_of(path.removesuffix(".py").replace("/", "."), ENTRANCES):
        return
    for module in imported(code):
        if module.split(".")[0] == path.split("/")[0] and is_part_of(module, ENTRANCES):
            yield f"{path} imports {module}"


def layer_imports_higher_one(path: str, code: str) -> Iterator[str]:
    layer = layer_of(path.removesuffix(".py").replace("/", "."))
    if not path.startswith("jobs/") or layer not in LAYERS:
        return
    higher = LAYERS[LAYERS.index(layer) + 1 :]
    for module in imported(code):
        if module.startswith("jobs.") and layer_of(module) in higher:
            yield f"{path} imports {module}"


def ground_imports_service(path: str, code: str) -> Iterator[str]:
    if path.removesuffix(".py").split("/")[-1] not in GROUND:
        return
    for module in imported(code):
        if module.split(".")[0] in ROOMS and not GROUND & set(module.split(".")):
            yield f"{path} imports {module}"


def state_is_assigned(path: str, code: str) -> Iterator[str]:
    if path in MOVERS:
        return
    for node in ast.walk(ast.parse(code)):
        if writes_state(node):
            yield f"{path}:{node.lineno} assigns a state"


def mover_knows_another(path: str, code: str) -> Iterator[str]:
    names = {name for module in imported(code) for name in module.split(".")}
    for stranger in sorted(names & MOVERS.get(path, set())):
        yield f"{path} knows {stranger}"


def row_is_made_elsewhere(path: str, code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if (
            path not in MAKERS
            and isinstance(node, ast.Call)
            and ast.unparse(node.func)
            in {f"{name}.objects.create" for name in ("Job", "Call", "Attempt")}
        ):
            yield f"{path}:{node.lineno} makes a row that has a state"


def file_is_too_long(path: str, code: str) -> Iterator[str]:
    if code.count("\n") > MOST_LINES:
        yield f"{path} has more than {MOST_LINES} lines"


def something_is_printed(path: str, code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        is_print = isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
        if is_print and path not in PRINTING:
            yield f"{path}:{node.lineno} prints"


def clock_is_read_elsewhere(path: str, code: str) -> Iterator[str]:
    if path.startswith(OTHER_CLOCKS):
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS:
            yield f"{path}:{node.lineno} reads a clock that is not django.utils.timezone's"


def something_is_unfinished(path: str, code: str) -> Iterator[str]:
    if UNFINISHED.search(code):
        yield f"{path} says that it is unfinished"


Rule = Callable[[str, str], Iterator[str]]
RULES: tuple[Rule, ...] = (
    import_points_up,
    admin_base_imports_ours,
    sandbox_imports_ours,
    kind_imports_another,
    foreign_key_points_up,
    service_imports_entrance,
    layer_imports_higher_one,
    ground_imports_service,
    state_is_assigned,
    mover_knows_another,
    row_is_made_elsewhere,
    file_is_too_long,
    something_is_printed,
    clock_is_read_elsewhere,
    something_is_unfinished,
)
PRODUCT = {
    str(file.relative_to(settings.BASE_DIR)): file.read_text(encoding="utf-8")
    for room in ROOMS
    for file in sorted((settings.BASE_DIR / room).rglob("*.py"))
    if "migrations" not in file.parts
}
GRAPH = package_graph(PRODUCT)
PLANTED: list[tuple[Rule, str, str]] = [
    (import_points_up, "quotas/ledger.py", "from jobs.core.models import Job"),
    (import_points_up, "quotas/ledger.py", "def late():\n    import providers.calls.ledger"),
    (import_points_up, "providers/calls/ledger.py", "from quotas import ledger"),
    (import_points_up, "providers/wire/http.py", "from config.settings import PORT"),
    (import_points_up, "jobs/engine/advance.py", "import config.env as env"),
    (admin_base_imports_ours, "config/admin_base.py", "from quotas.models import Account"),
    (admin_base_imports_ours, "config/admin_base/lists.py", "from config import admin"),
    (sandbox_imports_ours, "providers/sandbox/wire.py", "from providers.wire import http"),
    (kind_imports_another, "jobs/pictures/orders.py", "from jobs.contracts import models"),
    (kind_imports_another, "jobs/contracts/orders.py", "from jobs.pictures.forms import F"),
    (foreign_key_points_up, "quotas/models.py", "job = ForeignKey('jobs.Job', CASCADE)"),
    (service_imports_entrance, "jobs/outcomes.py", "from jobs.web.views.pages import show"),
    (service_imports_entrance, "jobs/outcomes.py", "from jobs.processes import tasks"),
    (service_imports_entrance, "quotas/ledger.py", "from quotas.admin import AccountAdmin"),
    (layer_imports_higher_one, "jobs/pictures/follow.py", "from jobs.kinds import KINDS"),
    (layer_imports_higher_one, "jobs/core/leases.py", "from jobs import outcomes"),
    (layer_imports_higher_one, "jobs/outcomes.py", "from jobs.pictures.follow import deliver"),
    (layer_imports_higher_one, "jobs/kinds.py", "def run():\n    from jobs.engine import sending"),
    (service_imports_entrance, "providers/recovery.py", "from providers.webhooks import views"),
    (ground_imports_service, "jobs/core/models.py", "from jobs import leases"),
    (
        ground_imports_service,
        "providers/calls/states.py",
        "from providers.calls.ledger import record",
    ),
    (state_is_assigned, "jobs/outcomes.py", "job.state = JobState.READY"),
    (state_is_assigned, "jobs/outcomes.py", "job.attempt.state, other = 'failed', 1"),
    (state_is_assigned, "jobs/web/views/jobs.py", "Job.objects.filter(pk=1).update(state='ready')"),
    (state_is_assigned, "jobs/staff/admin.py", "calls.update(**{'state': 'failed'})"),
    (
        state_is_assigned,
        "jobs/staff/admin.py",
        "Call.objects.bulk_update(calls, ['state', 'cost'])",
    ),
    (
        state_is_assigned,
        "jobs/staff/admin.py",
        "Job.objects.update_or_create(pk=1, defaults={'state': 1})",
    ),
    (state_is_assigned, "quotas/admin.py", "setattr(attempt, 'state', 'failed')"),
    (state_is_assigned, "jobs/engine/advance.py", "run('UPDATE quotas_attempt SET state = 1')"),
    (mover_knows_another, "jobs/core/transitions.py", "from providers.calls.models import Call"),
    (mover_knows_another, "providers/calls/ledger.py", "from jobs.core.models import Event, Job"),
    (row_is_made_elsewhere, "jobs/pictures/generate.py", "Call.objects.create(work='image:1')"),
    (file_is_too_long, "jobs/core/models.py", "x = 1\n" * (MOST_LINES + 1)),
    (something_is_printed, "jobs/engine/advance.py", "def look():\n    print('here')"),
    (clock_is_read_elsewhere, "providers/wire/http.py", "late = time.time() > 1"),
    (
        clock_is_read_elsewhere,
        "jobs/processes/ticker.py",
        "def tick():\n    return datetime.now(UTC)",
    ),
    (something_is_unfinished, "jobs/engine/advance.py", "x = 1  # TODO: the rest"),
]
ALLOWED: list[tuple[Rule, str, str]] = [
    (import_points_up, "config/checks/setup.py", "from providers import registry"),
    (import_points_up, "quotas/admin.py", "from config.admin_base import ReadOnlyAdmin"),
    (import_points_up, "jobs/outcomes.py", "from quotas import ledger"),
    (import_points_up, "quotas/admin.py", "from config.admin_base import ReadOnly"),
    (admin_base_imports_ours, "config/admin_base/lists.py", "from config.admin_base import base"),
    (admin_base_imports_ours, "config/admin.py", "from quotas.models import Account"),
    (sandbox_imports_ours, "providers/sandbox/wire.py", "from providers.sandbox import faults"),
    (kind_imports_another, "jobs/kinds.py", "from jobs.pictures import orders"),
    (service_imports_entrance, "providers/webhooks/urls.py", "import providers.webhooks.views"),
    (foreign_key_points_up, "jobs/core/models.py", "job = ForeignKey('quotas.Attempt', CASCADE)"),
    (service_imports_entrance, "jobs/web/views/home.py", "from jobs.web.views.pages import show"),
    (service_imports_entrance, "jobs/web/urls.py", "from jobs.web.views import home"),
    (layer_imports_higher_one, "jobs/engine/sending.py", "from jobs import kinds, outcomes"),
    (layer_imports_higher_one, "jobs/web/urls.py", "from jobs.engine import advance"),
    (ground_imports_service, "jobs/core/models.py", "from quotas.models import Account"),
    (state_is_assigned, "jobs/core/transitions.py", "Job.objects.update(state='ready')"),
    (state_is_assigned, "jobs/outcomes.py", "Job.objects.filter(state=1).update(reason='')"),
    (state_is_assigned, "jobs/outcomes.py", "same = call.state == 'unknown'"),
    (mover_knows_another, "jobs/outcomes.py", "from providers.calls.models import Call"),
    (row_is_made_elsewhere, "jobs/pictures/orders.py", "Job.objects.create(state='queued')"),
    (clock_is_read_elsewhere, "jobs/processes/ticker.py", "at = time.monotonic()"),
    (clock_is_read_elsewhere, "providers/sandbox/routes.py", "now = time.time()"),
]  # fmt: skip


def is_admin_base(module: str) -> bool:
    return f"{module}.".startswith(f"{ADMIN_BASE}.")


def is_part_of(module: str, names: set[str]) -> bool:
    """Whether its own name, or that of a package above it, is one of these."""
    return not names.isdisjoint(module.split(".")[1:])


def layer_of(module: str) -> str:
    return (*module.split("."), "", "")[1]


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def writes_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "state" and isinstance(node.ctx, ast.Store)
    if is_string(node):
        return bool(RAW_STATE.search(node.value))
    return isinstance(node, ast.Call) and call_writes_state(node)


def call_writes_state(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    strings = {part.value for part in ast.walk(call) if isinstance(part, ast.Constant)}
    if name == "update":
        return any(keyword.arg == "state" for keyword in call.keywords) or any(
            keyword.arg is None and "state" in keys_of(keyword.value) for keyword in call.keywords
        )
    return name in {"bulk_update", "setattr", "update_or_create"} and "state" in strings


def keys_of(node: ast.expr) -> set[object]:
    keys = node.keys if isinstance(node, ast.Dict) else []
    return {key.value for key in keys if isinstance(key, ast.Constant)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_product_keeps_the_rule(rule):
    assert [wrong for path, code in PRODUCT.items() for wrong in rule(path, code)] == []


@pytest.mark.parametrize(("rule", "path", "code"), PLANTED)
def test_rule_finds_what_is_planted(rule, path, code):
    assert len(list(rule(path, code))) == 1


@pytest.mark.parametrize(("rule", "path", "code"), ALLOWED)
def test_rule_leaves_alone_what_is_allowed(rule, path, code):
    assert list(rule(path, code)) == []


def test_every_rule_has_a_planted_sample():
    assert {rule for rule, _, _ in PLANTED} == set(RULES)


def test_product_is_all_there():
    assert {path.split("/")[0] for path in PRODUCT} == set(ROOMS)
    assert set(MAKERS) | PRINTING < set(PRODUCT)


def test_templates_are_finished():
    templates = settings.BASE_DIR / "templates"
    pages = {file: file.read_text(encoding="utf-8") for file in templates.rglob("*.html")}
    assert pages
    assert [file.name for file, text in pages.items() if UNFINISHED.search(text)] == []


def tree(**imports: str) -> dict[str, str]:
    """A product of modules, each of which imports these others."""
    return {
        f"{name.replace('__', '/')}.py": "\n".join(f"import {other}" for other in others.split())
        for name, others in imports.items()
    }


CYCLES = {
    "two packages": tree(
        jobs__engine__queue="jobs.outcomes.settle", jobs__outcomes__fail="jobs.engine.leases",
        jobs__engine__leases="", jobs__outcomes__settle="",
    ),
    "two packages at depth two": tree(
        jobs__staff__actions__pause="jobs.staff.dashboard.bars",
        jobs__staff__dashboard__usage="jobs.staff.actions.attach",
        jobs__staff__actions__attach="", jobs__staff__dashboard__bars="",
    ),
    "three packages": tree(
        providers__calls__ledger="providers.wire.http",
        providers__wire__classify="providers.adapters.base",
        providers__adapters__polza="providers.calls.money",
        providers__wire__http="", providers__adapters__base="", providers__calls__money="",
    ),
    "three packages at depth three": tree(
        jobs__ops__audit__files__a="jobs.ops.audit.rules.a",
        jobs__ops__audit__rules__b="jobs.ops.audit.slots.a",
        jobs__ops__audit__slots__b="jobs.ops.audit.files.b",
        jobs__ops__audit__rules__a="", jobs__ops__audit__slots__a="",
        jobs__ops__audit__files__b="",
    ),
    "a package and two modules beside it": tree(
        jobs__outcomes="jobs.engine.leases", jobs__engine__leases="",
        jobs__engine__advance="jobs.kinds", jobs__kinds="jobs.outcomes",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "planted"), CYCLES.items(), ids=CYCLES)
def test_cycle_of_packages_is_found_at_any_depth(name, planted):
    (group,) = cycles(package_graph(planted))
    assert len(group) == (2 if name.startswith("two") else 3)


def test_packages_that_import_one_way_are_no_cycle():
    planted = tree(
        jobs__web__a="jobs.core.a jobs.engine.a",
        jobs__engine__a="jobs.core.b",
        jobs__core__a="jobs.core.b",
        jobs__core__b="",
    )
    assert cycles(package_graph(planted)) == []


def test_an_import_inside_a_function_counts():
    planted = {
        "jobs/engine/a.py": "def late():\n    from jobs.core import b",
        "jobs/core/b.py": "from jobs.engine.a import late",
    }
    assert cycles(package_graph(planted)) == [["jobs.core", "jobs.engine"]]


def test_no_packages_import_each_other():
    assert cycles(GRAPH, without=EXCEPTIONS) == []


def test_imports_run_down_the_layers():
    assert imports_upwards(GRAPH, DOWNWARDS) - EXCEPTIONS == set()


def test_import_up_the_layers_is_found():
    planted = tree(
        jobs__core__a="jobs.pictures.a", jobs__pictures__a="jobs.outcomes", jobs__outcomes=""
    )
    assert imports_upwards(package_graph(planted), DOWNWARDS) == {("jobs.core", "jobs.pictures")}


def test_every_exception_is_still_needed():
    found = set().union(*GRAPH.values())
    up = imports_upwards(GRAPH, DOWNWARDS)
    needed = {
        edge
        for edge in EXCEPTIONS & found
        if edge in up or cycles(GRAPH, without=EXCEPTIONS - {edge})
    }
    assert EXCEPTIONS - needed == set()


def test_no_folder_has_too_many_modules():
    without_sandbox = {p: code for p, code in PRODUCT.items() if "providers/sandbox/" not in p}
    assert crowded_folders(without_sandbox, MOST_MODULES) == []


def test_crowded_folder_is_found():
    planted = tree(**{f"jobs__web__m{number}": "" for number in range(MOST_MODULES)})
    assert crowded_folders({**planted, "jobs/web/__init__.py": ""}, MOST_MODULES) == []
    assert crowded_folders({**planted, "jobs/web/one.py": ""}, MOST_MODULES) == ["jobs/web"]
