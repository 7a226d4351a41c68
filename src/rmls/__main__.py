"""Run the command line with ``python -m rmls``."""

from rmls.cli import main

if __name__ == "__main__":
    main()
