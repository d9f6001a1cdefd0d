"""`manage.py up` supervises the processes of the site: web, cluster, ticker and sandbox.

It restarts a process that ends, and leaves none behind, even if `up` itself is killed. Each child
leads its own session, so that its whole process group can be killed at once.
"""
