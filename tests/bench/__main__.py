"""`make bench PART=name`: measure one part and print it. Without a name, say what there is."""

import importlib
import sys
from pathlib import Path


def parts() -> list[str]:
    """`fill` measures nothing: it writes into the site's own database."""
    files = Path(__file__).parent.glob("[a-z]*.py")
    return sorted(file.stem for file in files if file.stem != "fill")


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in parts():
        sys.exit(f"make bench PART=..., one of: {', '.join(parts())}")
    importlib.import_module(f"tests.bench.{name}").main()


if __name__ == "__main__":
    main()
