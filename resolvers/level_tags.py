"""Resolver of the level tags of a map."""

from resolvers.request.context import Relation
from resolvers.request.listing import list_resolver
from storage.catalog import LEVEL_TAGS

LEVEL_TAGS_OF_MAP = Relation(LEVEL_TAGS, lambda map_id: {"map_id": map_id}, is_short=True)


list_level_tags_of_map = list_resolver(LEVEL_TAGS_OF_MAP, "List the level tags of a map.")
