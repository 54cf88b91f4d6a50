"""Assets: the properties that everything else belongs to."""

from storage.fields import Id, Stamped, Text
from storage.kinds import Kind


class Asset(Stamped, frozen=True, kw_only=True):
    """A property."""

    id: Id
    name: Text
    market: Text = "multifamily"


ASSETS = Kind("assets", "asset", Asset, fixed=(), visible_by="_id")
