"""Live progress: one stream a page, one watcher a web process, the database as the channel.

    watchers  notice that some job changed (SQLite: data_version, PostgreSQL: LISTEN)
    hub       renders each watched job once a version and wakes its subscribers
    streams   one open page: the present state, then each new one, then the end

A stream compares versions and sends the present state; it never reads "events after id n", since
ids are given before commit and a later one can appear first.
"""
