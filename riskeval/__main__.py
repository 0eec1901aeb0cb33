"""Run the command line: ``riskeval``, or ``python -m riskeval``."""

from synthpop.microdata.runs.start import start


def main() -> None:
    """Run the command line."""
    start("riskeval")


if __name__ == "__main__":
    main()
