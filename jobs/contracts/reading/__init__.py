"""From the bytes of a file to the clauses of a contract, without Django.

`child.read` runs `extraction.extract` in a process with limits; `splitting.split` needs no process.
"""
