"""`python -m unblot`."""

from unblot.cli import main

if __name__ == "__main__":
    main()
