"""Errors that parsing a document can raise.

ParsingError                 base class; carries message, line and column
├── NotWellFormedError       not XML, JSON or zip: broken markup, wrong encoding, cut off
├── InvalidMarkupError       XML of another kind: wrong root, a value out of its range
├── InvalidPlanError         a floor plan that contradicts itself or lacks required parts
└── DocumentRejectedError    over a limit, or refers to something outside the document

FaultyElementError           an element to leave out; stays within the readers
"""

from typing import Self


class ParsingError(Exception):
    """An error message for the user with its position; line and column count from 1.

    Both are 0 if the position is unknown. The three fields are the exception's `args`, so that it
    can be pickled and raised again in another process.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return (
            f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message
        )

    def with_position(self, position: tuple[int, int]) -> Self:
        """Return the same error with a (line, column) position."""
        return type(self)(self.message, *position)


class NotWellFormedError(ParsingError):
    """The bytes cannot be decoded, for XML as defined in XML 1.0, section 2.1."""


class InvalidMarkupError(ParsingError):
    """Well-formed XML that is not a valid unit map or OpenStreetMap file."""


class InvalidPlanError(ParsingError):
    """A floor plan that cannot be read; the message names file and feature."""


class DocumentRejectedError(ParsingError):
    """A document that exceeds a limit or refers to something outside itself."""


class FaultyElementError(Exception):
    """An element that a reader leaves out; the reason groups such elements."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
