"""What a backup holds: all collections but those that only running processes need."""

from storage.administration import audit
from storage.administration.import_lease import LEASE_COLLECTION
from storage.bundles.importing.switching import SWITCHED_COLLECTIONS
from storage.mongo import files
from storage.setup.migrations import MIGRATIONS_COLLECTION
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION

SAVED_COLLECTIONS = (
    files.COLLECTION,
    *(name for name in SWITCHED_COLLECTIONS if name != MIGRATIONS_COLLECTION),
    audit.AUDIT_COLLECTION,
)
OMITTED_COLLECTIONS = (LEASE_COLLECTION, CONDITIONAL_WRITES_COLLECTION, MIGRATIONS_COLLECTION)
"""A lease; counters that only conflict; the number of the last migration is in the header."""
