"""The one job that is new since a fault point was armed."""


def the_job(site, known: set[str]) -> dict | None:
    new = [row for job, row in site.rows().items() if job not in known]
    return new[0] if new else None


def id_of_the_job(site, known: set[str]) -> str:
    return next(job for job in site.rows() if job not in known)
