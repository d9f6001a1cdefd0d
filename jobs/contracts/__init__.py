"""Contracts: files read, split into clauses and compared."""
