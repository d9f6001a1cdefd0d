"""Bad files are refused with a reason, and a reader in a process of its own keeps to its limits."""

import subprocess
import sys
import tempfile

import pytest

from jobs.contracts.reading.child import ROOT, read_file
from jobs.contracts.reading.extraction import extract
from jobs.contracts.reading.limits import Limits, refuse_contact
from jobs.contracts.reading.refusals import SENTENCES, Reason, Unreadable
from tests.jobs.contracts.bad_files import BAD, WORDS, docx, pdf
from tests.jobs.contracts.documents import FOLDER


def read(data, name="a.txt", **limits):
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return read_file(file, name, Limits(**limits))


def reason_of(data, name="a.txt", **limits):
    with pytest.raises(Unreadable) as refused:
        read(data, name, **limits)
    return refused.value.reason


@pytest.mark.parametrize("case", BAD)
def test_bad_file_is_refused(case):
    name, make, reason = BAD[case]
    with pytest.raises(Unreadable) as refused:
        extract(make(), name)
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    "case", ["PDF bomb", "DOCX bomb", "DOCX with entities", "PDF with a password, AES-256"]
)
def test_hostile_file_is_refused_by_the_child(case):
    name, make, reason = BAD[case]
    assert reason_of(make(), name) in {reason, Reason.MEMORY}


def test_shared_scan_is_refused():
    data = (FOLDER / "bonterms-cloud-terms" / "v1-scan-2pages.pdf").read_bytes()
    assert reason_of(data, "scan.pdf") is Reason.SCAN


@pytest.mark.parametrize("algorithm", ["AES-256", "AES-128", "RC4-128"])
def test_empty_user_password_opens(algorithm):
    found = extract(pdf(WORDS, password="", algorithm=algorithm), "a.pdf")
    assert "The Customer pays the fees." in found.text


def test_every_reason_has_one_sentence_that_says_what_to_do():
    assert set(SENTENCES) == set(Reason)
    assert all(sentence.endswith(".") and len(sentence) < 120 for sentence in SENTENCES.values())


def test_too_slow():
    assert reason_of(b"text", seconds=0.01) is Reason.SLOW


def test_too_much_memory():
    data = b"<html><body>" + b"<p>1. Word</p>" * 200_000
    assert reason_of(data, "a.html", memory=160 * 2**20) is Reason.MEMORY


def test_too_much_output():
    assert reason_of(b"1. Payment. The Customer pays.\n\n" * 200, output=1000) is Reason.OUTPUT


def test_memory_of_the_child_is_known():
    assert 10 * 2**20 < read(b"1. Payment.").peak_memory_bytes < 700 * 2**20


def test_child_reads_what_the_function_reads():
    data = docx()
    assert read(data, "a.docx").extract == extract(data, "a.docx")


@pytest.mark.parametrize("event", ["socket.connect", "subprocess.Popen", "os.posix_spawn"])
def test_child_makes_no_contact(event):
    with pytest.raises(PermissionError):
        refuse_contact(event, ())


def test_packages_import_no_django():
    code = (
        "import sys, jobs.contracts.reading.child, jobs.contracts.reading.__main__, "
        "jobs.contracts.reading.splitting, jobs.contracts.comparing.comparison, "
        "jobs.contracts.comparing.redline; sys.exit('django' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
