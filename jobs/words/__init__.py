"""What a page says of a job: states, steps, sentences and times in words."""
