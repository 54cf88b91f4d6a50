"""What can be wrong with a document.

ParsingError                 any of the below; carries message, line and column
├── NotWellFormed            not XML: broken markup, wrong encoding, cut off
├── InvalidMarkup            XML, but no unit map: wrong root, a value out of its range
├── InvalidPlan              a floor plan that contradicts itself or lacks what it must have
└── Refused                  over a limit, or asks for something outside itself
"""

from typing import Self


class ParsingError(Exception):
    """A sentence for the user and the place it speaks of, line and column counted from 1.

    Both are 0 where no document is at hand. The three fields are the exception's `args`, so
    it crosses process borders unharmed.
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
        """The same error, with its place."""
        return type(self)(self.message, *position)


class NotWellFormedError(ParsingError):
    """The bytes are not well-formed XML (XML 1.0, section 2.1)."""


class InvalidMarkupError(ParsingError):
    """Well-formed XML that cannot be read as a unit map."""


class InvalidPlanError(ParsingError):
    """A floor plan that cannot be read as one; the message names file and feature."""


class DocumentRejectedError(ParsingError):
    """A document over a limit, or one that asks for something outside itself."""
