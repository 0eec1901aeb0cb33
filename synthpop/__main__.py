"""Run the command line: ``synthpop``, or ``python -m synthpop``."""

from synthpop.microdata.runs.start import start


def main() -> None:
    """Run the command line."""
    start("synthpop")


if __name__ == "__main__":
    main()
