"""The rows of `tests.bench.fill`, each table by one statement that both databases read."""

from datetime import datetime

from django.db import connection

DAYS = 100
# Of the newest attempts and calls, these many parts of all have a job.
JOBS_OF = 5
ACCOUNTS = 20_000
SLOTS_A_DAY = 4
# Alerts, grants and what staff decided.
FEW = 5_000
MODEL = "test-picture"


class History:
    """Expressions over the number `i` of a row, 1 being the oldest, that both databases read."""

    def __init__(self, rows: int, now: datetime) -> None:
        self.rows, self.now = rows, now.replace(microsecond=0, tzinfo=None)
        self.is_postgres = connection.vendor == "postgresql"
        self.a_day = max(1, rows // DAYS)
        self.ago = f"({rows} - i) / {self.a_day}"
        # As many people a day as have four slots each; others on the next day.
        people = max(1, self.a_day // SLOTS_A_DAY)
        self.turn = f"({rows} - i) % {self.a_day}"
        wide = max(1, min(ACCOUNTS, rows) // people)
        self.account = f"1 + ({self.turn}) % {people} * {wide} + ({self.ago}) % {wide}"
        self.accounts = people * wide
        self.slot = f"1 + ({self.turn}) / {people}"
        # The newest day is what has passed of today.
        passed = self.now.hour * 3600 + self.now.minute * 60 + self.now.second
        self.seconds_ago = (
            f"(CASE WHEN ({self.ago}) = 0 THEN ({self.turn}) * {passed} / {self.a_day}"
            f" ELSE {passed} + (({self.ago}) - 1) * 86400 + ({self.turn}) * 86400 / {self.a_day}"
            " END)"
        )

    def write(self) -> None:
        self.write_accounts()
        self.write_attempts()
        self.write_calls()
        self.write_jobs()
        self.write_stages()
        self.write_alerts()
        self.write_grants()
        self.write_decisions()

    def write_accounts(self) -> None:
        from quotas.models import Account

        self._insert(
            Account,
            self._numbers(until=self.accounts + SLOTS_A_DAY),
            id="i",
            visitor="'visitor-' || i",
            plan_id=f"CASE WHEN i % 10 = 0 THEN {_plan('visitor')} ELSE {_plan('free')} END",
            created_at=self._moment(f"{DAYS} * 86400"),
        )

    def write_attempts(self) -> None:
        from quotas.models import Attempt

        open_ones = f"i > {self.rows - self.rows // 5000} OR i % 5000 = 0"
        state = f"CASE WHEN {open_ones} THEN 'pending' WHEN i % 50 = 0 THEN 'failed'"
        state += " ELSE 'success' END"
        self._insert(
            Attempt,
            self._numbers(),
            id="i",
            account_id=self.account,
            kind="'image'",
            day=self._day(self.ago),
            slot=self.slot,
            allowed="1000",
            state=state,
            reserved_at=self._moment(self.seconds_ago),
            settled_at=f"CASE WHEN {open_ones} THEN NULL ELSE "
            f"{self._moment(self.seconds_ago, 30)} END",
        )

    def write_calls(self) -> None:
        from providers.calls.models import Call

        newest = self.rows - self.rows // 5000
        flying, lost, gone, bad = (
            f"i > {newest}",
            *(
                f"(i <= {newest} AND i % {n} = {rest})"
                for n, rest in ((5000, 0), (2500, 7), (50, 3))
            ),
        )
        live = f"({flying} OR {lost})"
        sent = self._moment(self.seconds_ago)
        later = self._moment(self.seconds_ago, 30)
        self._insert(
            Call,
            self._numbers(),
            id="i",
            work=f"'image:' || {self._uuid()}",
            provider="CASE WHEN i % 3 = 0 THEN 'polza' ELSE 'sandbox' END",
            model=f"'{MODEL}'",
            state=f"CASE WHEN {flying} THEN 'accepted' WHEN {lost} THEN 'unknown'"
            f" WHEN {gone} THEN 'given_up' WHEN {bad} THEN 'rejected' ELSE 'succeeded' END",
            why=f"CASE WHEN {live} THEN '' WHEN {gone} THEN 'deadline' WHEN {bad} THEN"
            " 'provider' ELSE '' END",
            reference=f"CASE WHEN {lost} OR {gone} THEN NULL ELSE 'gen_' || i END",
            hook_token="'token-' || i",
            sent_at=sent,
            send_by=sent,
            answer_by=later,
            deadline_at=self._moment(self.seconds_ago, 86400),
            give_up_at=self._moment(self.seconds_ago, 7 * 86400),
            accepted_at=f"CASE WHEN {bad} OR {gone} OR {lost} THEN NULL ELSE {sent} END",
            ended_at=f"CASE WHEN {live} THEN NULL ELSE {later} END",
            poll_at=f"CASE WHEN {live} THEN {later} ELSE NULL END",
            cost_estimate="5",
            cost=f"CASE WHEN {live} OR {gone} THEN NULL WHEN {bad} THEN 0 ELSE 5 END",
            currency="'RUB'",
        )

    def write_jobs(self) -> None:
        from jobs.core.models import Job

        waiting, flying = f"i > {self.rows - self.rows // 20000}", self.rows - self.rows // 5000
        doubted, bad = "i % 5000 = 0", "i % 50 = 3"
        is_open = f"(i > {flying} OR {doubted})"
        began = self._moment(self.seconds_ago)
        self._insert(
            Job,
            self._numbers(first=self.rows - self.rows // JOBS_OF + 1),
            id=self._uuid(stored=True),
            account_id=self.account,
            attempt_id="i",
            kind="'image'",
            state=f"CASE WHEN {waiting} THEN 'queued' WHEN i > {flying} THEN 'running'"
            f" WHEN {doubted} THEN 'in_doubt' WHEN {bad} THEN 'failed' ELSE 'ready' END",
            reason=f"CASE WHEN {bad} AND NOT {is_open} THEN 'provider' ELSE '' END",
            prompt="'A lighthouse above a quiet bay'",
            params=f"""'{{"provider": "sandbox", "model": "{MODEL}"}}'""",
            form_key="'form-' || i",
            form_digest="'digest'",
            created_at=began,
            changed_at=began,
            ended_at=f"CASE WHEN {is_open} THEN NULL ELSE {self._moment(self.seconds_ago, 30)} END",
        )

    def write_stages(self) -> None:
        """Those that wait for a worker have killed two."""
        from jobs.core.models import Stage

        waiting, flying = f"i > {self.rows - self.rows // 20000}", self.rows - self.rows // 5000
        is_open = f"(i > {flying} OR i % 5000 = 0)"
        began = self._moment(self.seconds_ago)
        self._insert(
            Stage,
            self._numbers(first=self.rows - self.rows // JOBS_OF + 1),
            job_id=self._uuid(stored=True),
            name="'generate'",
            due_at=f"CASE WHEN {is_open} THEN {self._moment(self.seconds_ago, 86400)} END",
            tries=f"CASE WHEN {waiting} THEN 2 ELSE 0 END",
            created_at=began,
            done_at=f"CASE WHEN {is_open} THEN NULL ELSE {self._moment(self.seconds_ago, 30)} END",
        )

    def write_alerts(self) -> None:
        from quotas.models import Alert

        days = self._moment(f"({FEW} - i) * 1000")
        self._insert(
            Alert,
            self._numbers(until=FEW),
            kind="'contradiction'",
            subject="'call ' || i",
            words="'The provider says otherwise'",
            opened_at=days,
            seen_at=days,
            closed_at=f"CASE WHEN i > {FEW - 10} THEN NULL ELSE {days} END",
        )

    def write_grants(self) -> None:
        from quotas.models import Grant

        self._insert(
            Grant,
            self._numbers(until=FEW),
            account_id=f"1 + i % {self.accounts}",
            kind="'image'",
            day=self._day(f"({FEW} - i) / 50"),
            slots="3",
            reason="'Goodwill'",
            granted_at=self._moment(f"({FEW} - i) * 1000"),
        )

    def write_decisions(self) -> None:
        from jobs.core.models import StaffAction

        self._insert(
            StaffAction,
            self._numbers(until=FEW),
            action="'check'",
            subject="'call ' || i",
            reason="'They asked'",
            by_name="'staff'",
            at=self._moment(f"({FEW} - i) * 1000"),
        )

    def _numbers(self, first: int = 1, until: int = 0) -> str:
        last = until or self.rows
        return f"SELECT {first} AS i UNION ALL SELECT i + 1 FROM n WHERE i < {last}"

    def _insert(self, table, numbers: str, /, **expressions: str) -> None:
        """What is not given has the default of its field, so a new column needs no line here."""
        columns, values, defaults = [], [], []
        for field in table._meta.concrete_fields:
            expression = expressions.get(field.attname)
            if expression is None and field.primary_key:
                continue
            if expression is None:
                default = field.get_default()
                defaults.append(field.get_db_prep_save(default, connection))
            value = "%s" if expression is None else expression.replace("%", "%%")
            columns.append(connection.ops.quote_name(field.column))
            kind = field.db_type(connection)
            values.append(f"CAST({value} AS {kind})" if self.is_postgres else value)
        sql = (
            f"WITH RECURSIVE n AS ({numbers}) INSERT INTO {table._meta.db_table}"
            f" ({', '.join(columns)}) SELECT {', '.join(values)} FROM n"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, defaults)

    def _moment(self, seconds_ago: str, later: int = 0) -> str:
        if self.is_postgres:
            return f"(TIMESTAMPTZ '{self.now}+00' - (({seconds_ago}) - {later}) * INTERVAL '1 s')"
        return f"DATETIME('{self.now}', (({later}) - ({seconds_ago})) || ' seconds')"

    def _day(self, ago: str) -> str:
        if self.is_postgres:
            return f"(DATE '{self.now:%Y-%m-%d}' - ({ago}))"
        return f"DATE('{self.now:%Y-%m-%d}', (0 - ({ago})) || ' days')"

    def _uuid(self, *, stored: bool = False) -> str:
        """Scattered by its beginning, ending with the number. SQLite keeps it without dashes."""
        mixed = "(i * 2654435761) % 4294967296"
        if self.is_postgres:
            mixed = "(i::bigint * 2654435761) % 4294967296"
            return (
                f"(LPAD(TO_HEX({mixed}), 8, '0') || '-0000-4000-8000-' || LPAD(TO_HEX(i), 12, '0'))"
            )
        form = "%08x0000400080000%011x" if stored else "%08x-0000-4000-8000-%012x"
        return f"PRINTF('{form}', {mixed}, i)"


def _plan(name: str) -> int:
    from quotas.models import Plan

    return Plan.objects.get(name=name).pk
