"""What the sources of an import mention, and so what a mirror of them may remove."""

from storage.records.kinds import Document


class Mentions:
    """The kinds of records that sources list, whole or the records that fulfil a condition.

    >>> mentions = Mentions()
    >>> mentions.add("units", {"asset_id": "oak"})
    >>> mentions.condition_of("units"), mentions.condition_of("maps")
    ({'$or': [{'asset_id': 'oak'}]}, None)
    >>> mentions.add("units")
    >>> mentions.condition_of("units")
    {}
    """

    def __init__(self) -> None:
        self._conditions: dict[str, list[Document]] = {}

    def add(self, kind_name: str, condition: Document | None = None) -> None:
        """Add a kind of which a source has all records, or all that fulfil a condition."""
        if condition is None:
            self._conditions[kind_name] = []
        elif self._conditions.get(kind_name) != []:
            self._conditions.setdefault(kind_name, []).append(condition)

    def condition_of(self, kind_name: str) -> Document | None:
        """Return which records of a kind the sources list; None if they list none."""
        if kind_name not in self._conditions:
            return None
        conditions = self._conditions[kind_name]
        return {"$or": conditions} if conditions else {}

    def list_asset_ids(self, kind_name: str) -> list[str] | None:
        """Return the assets to which the records of a kind are limited; None if they are not.

        >>> mentions = Mentions()
        >>> mentions.add("units", {"asset_id": {"$in": ["oak", "elm"]}})
        >>> mentions.list_asset_ids("units"), mentions.list_asset_ids("maps")
        (['elm', 'oak'], None)
        """
        conditions = self._conditions.get(kind_name)
        if not conditions:
            return None
        return sorted({each for condition in conditions for each in condition["asset_id"]["$in"]})
