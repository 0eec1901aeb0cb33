"""Run the command line: ``python -m riskeval``."""

from riskeval.cli import main

if __name__ == "__main__":
    main()
