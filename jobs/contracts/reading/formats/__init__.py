"""One reader for each format of file: bytes or text in, blocks out."""
