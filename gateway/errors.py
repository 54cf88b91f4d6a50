"""Errors that prevent the gateway from starting. Their messages are written for the operator.

Exception
├── StartError      the service
└── TlsError        its certificate or key
"""


class StartError(Exception):
    """The service cannot start."""


class TlsError(Exception):
    """The certificate or key cannot be used."""
