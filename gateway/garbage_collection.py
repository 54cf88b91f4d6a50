"""When a worker looks for reference cycles.

Python looks through all objects whenever enough new ones were made, so several times while one
large response is made, and each time takes longer than anything else that holds the event loop.
"""

import asyncio
import gc

COLLECTION_SECONDS = 10.0
"""How often all objects are looked through, whatever requests make meanwhile."""
THRESHOLDS = (700, 10, 1_000_000)
"""As `gc.set_threshold` takes them: young objects as usual, old ones practically never.

Collecting more young objects at a time takes 7 to 20 ms, which others notice."""


def schedule_collections(loop: asyncio.AbstractEventLoop) -> None:
    """Look through all objects on a schedule only, without those that exist now.

    These, modules and the schema, live for ever.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    loop.call_later(COLLECTION_SECONDS, _collect, loop)


def _collect(loop: asyncio.AbstractEventLoop) -> None:
    gc.collect()
    loop.call_later(COLLECTION_SECONDS, _collect, loop)
