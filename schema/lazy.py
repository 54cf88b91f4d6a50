"""The types that mention each other, named before they are defined."""

from typing import TYPE_CHECKING, Annotated

import strawberry

if TYPE_CHECKING:
    from schema.assets import Asset
    from schema.attributes import Assignment
    from schema.backgrounds import Background
    from schema.floors import Floor
    from schema.locations import Location
    from schema.maps import Map
    from schema.references import AssetReference, UnitReference
    from schema.units import Unit

LazyAsset = Annotated["Asset", strawberry.lazy("schema.assets")]
LazyAssetReference = Annotated["AssetReference", strawberry.lazy("schema.references")]
LazyAssignment = Annotated["Assignment", strawberry.lazy("schema.attributes")]
LazyBackground = Annotated["Background", strawberry.lazy("schema.backgrounds")]
LazyFloor = Annotated["Floor", strawberry.lazy("schema.floors")]
LazyLocation = Annotated["Location", strawberry.lazy("schema.locations")]
LazyMap = Annotated["Map", strawberry.lazy("schema.maps")]
LazyUnit = Annotated["Unit", strawberry.lazy("schema.units")]
LazyUnitReference = Annotated["UnitReference", strawberry.lazy("schema.references")]
