"""Run the command line: ``python -m synthpop``."""

from synthpop.cli import main

if __name__ == "__main__":
    main()
