"""Why the gateway cannot start.

StartError      the service; the message is a sentence for the operator
TlsError        its certificate or key
"""


class StartError(Exception):
    """The service cannot start; the message is a sentence for the operator."""


class TlsError(Exception):
    """A certificate or key that cannot be used; the message says which and what would be right."""
