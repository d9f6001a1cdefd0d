"""The texts about a job: states, steps, sentences and times."""
