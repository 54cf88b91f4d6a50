"""Features of a drawing, for tests."""

from parsing.drawing import Drawing, Feature


def features_of(drawing: Drawing) -> dict[str, Feature]:
    return {feature.id: feature for feature in drawing.features}
