"""Level tags of a map."""

from resolvers.context import Relation
from resolvers.listing import listing
from storage.level_tags import LEVEL_TAGS

OF_MAP = Relation(LEVEL_TAGS, lambda map_id: {"map_id": map_id})


of_map = listing(OF_MAP, "The level tags of a map.")
