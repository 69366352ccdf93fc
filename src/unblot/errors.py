"""The errors a user can meet, each with the exit code the command line answers with."""

from __future__ import annotations


class UnblotError(Exception):
    """An error with a one-line message that says what to do about it."""

    exit_code = 1


class UsageError(UnblotError):
    """A parameter or an option has a value that makes no sense."""

    exit_code = 2


class InputError(UnblotError):
    """An input cannot be read."""

    exit_code = 3


class OutputError(UnblotError):
    """An output cannot be written."""

    exit_code = 4


class NothingFoundError(UnblotError):
    """The page shows no characters that repeat, so there is nothing to learn from it."""

    exit_code = 5
