import subprocess

import pytest

from tests.figures import Figures, main, report, sources_in_folder, sources_in_revision

ENGINE = '''"""Somebody told the engine."""

# Nobody is alone here, and nobody waits.
LIMIT = 1  # asked


def run(lease):
    """Whose lease it is."""
    return _read(lease) + _twice() + _twice()


def _read(lease):
    label = "nobody asked in a string"
    return label_of(lease, label)


def _twice():
    def _inner():
        return 1

    return _inner()


def _unused():
    pass


def label_of(lease, label):
    return lease, label


async def parts_of_lease(lease):
    return lease
'''
FILES = {
    "jobs/__init__.py": "",
    "jobs/engine/__init__.py": "",
    "jobs/engine/run.py": ENGINE,
    "jobs/states.py": "A = 1\nB = 2\n",
    "jobs/migrations/0001_initial.py": "# asked\n" * 50,
    "config/drill/run.py": "# asked\n" * 50,
    "providers/sandbox/server.py": "# asked\n" * 50,
    "providers/adapters/sandbox.py": "x = 1\n",
    "tests/test_run.py": "# asked\n" * 50,
}


@pytest.fixture
def folder(tmp_path):
    for path, code in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code, encoding="utf-8")
    return tmp_path


@pytest.fixture
def figures(folder):
    return Figures(sources_in_folder(folder))


def test_drill_sandbox_migrations_and_tests_are_left_out(figures):
    paths = [source.path for source in figures.sources]
    assert "providers/adapters/sandbox.py" in paths
    assert len(paths) == 5


def test_lines_count_for_every_folder_above_and_modules_for_their_own(figures):
    engine = ENGINE.count("\n")
    assert figures.by_folder == {
        "jobs": engine + 2,
        "jobs/engine": engine,
        "providers": 1,
        "providers/adapters": 1,
    }
    assert figures.lines == engine + 3
    assert (figures.modules["jobs"], figures.modules["jobs/engine"]) == (1, 1)


def test_comment_lines_hold_only_a_comment(figures):
    assert figures.comment_lines == 1


def test_private_functions_of_a_module_with_one_caller(figures):
    assert figures.private == 3
    assert figures.one_caller == [(3, "jobs/engine/run.py:_read")]


def test_functions_of_every_depth_are_counted_and_measured(figures):
    assert len(figures.functions) == 7
    assert max(figures.functions) == (5, "jobs/engine/run.py:_twice")


def test_names_that_contain_of(figures):
    names = [name.rpartition(":")[2] for name in figures.named_of]
    assert sorted(names) == ["label_of", "parts_of_lease"]


def test_words_count_in_comments_and_docstrings_only(figures):
    assert figures.idiom == {
        "somebody": 1,
        "told": 1,
        "nobody": 2,
        "alone": 1,
        "asked": 1,
        "whose": 1,
    }
    assert figures.prose_words == 4 + 7 + 1 + 4


def test_report_marks_a_folder_of_more_than_fifteen_modules(folder):
    for number in range(16):
        (folder / f"jobs/engine/more_{number}.py").touch()
    lines = [line for line in report(Figures(sources_in_folder(folder))) if "more than" in line]
    assert [line.split()[0] for line in lines] == ["engine"]


def test_revision_is_read_from_git(folder, monkeypatch):
    git = ["git", "-C", str(folder), "-c", "user.name=ana", "-c", "user.email=ana@example.org"]
    for package in ("quotas/__init__.py", "config/__init__.py"):
        (folder / package).parent.mkdir(exist_ok=True)
        (folder / package).touch()
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Before"]):
        subprocess.run([*git, *command], check=True)
    before = [(s.path, s.code) for s in sources_in_folder(folder)]
    (folder / "jobs/states.py").write_text("A = 1\n", encoding="utf-8")
    monkeypatch.setattr("tests.figures.ROOT", folder)
    found = [(s.path, s.code) for s in sources_in_revision("HEAD")]
    assert sorted(found) == sorted(before)


def test_command_prints_a_folder_without_what_is_left_out(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["figures", str(folder), "--without", "jobs/engine"])
    main()
    assert capsys.readouterr().out.startswith("3 lines in 3 files\n")
