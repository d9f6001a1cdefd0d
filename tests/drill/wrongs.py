"""One way in which the books are not as they must be, and the story of the job it is about."""

from dataclasses import dataclass

from tests.drill.records import Job


@dataclass(frozen=True)
class Wrong:
    kind: str
    job: str
    says: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.job or '-'}: {self.says}"


def story(job: Job) -> str:
    """Its calls and history; `@` is in seconds since it was ordered."""

    def at(moment: float | None) -> str:
        return "" if moment is None else f"@{moment - job.created_at:.0f}"

    calls = ", ".join(
        f"{call.model} {call.state}/{call.rule or '-'}/{call.reference or '-'}{at(call.ended_at)}"
        for call in job.calls
    )
    return f"{job.model} [{calls}] {job.reason} slot {job.attempt.state}, {job.told}"
