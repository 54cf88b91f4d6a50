"""MongoDB's own validation: a `$jsonSchema` for each kind, built from its record type."""

from typing import Any

import msgspec

from storage.records.decoding import stored_name
from storage.records.kinds import Document, RecordType


def build_validator(kind: RecordType[Any]) -> Document:
    """Return the `validator` option of a kind's collection: types of fields, required fields.

    Only fields without default are required, so that a field added later does not make older
    documents invalid: MongoDB validates the whole document on every update. Fields that the
    record lacks (derived ones, or those of a newer version) are allowed.
    """
    info = msgspec.inspect.type_info(kind.struct)
    assert isinstance(info, msgspec.inspect.StructType)
    schema = _object_schema(info)
    properties = schema["properties"]
    schema["properties"] = {stored_name(name): rule for name, rule in properties.items()}
    schema["required"] = [stored_name(name) for name in schema["required"]]
    return {"$jsonSchema": schema}


def _object_schema(info: msgspec.inspect.StructType) -> Document:
    return {
        "bsonType": "object",
        "required": [field.encode_name for field in info.fields if field.required],
        "properties": {field.encode_name: _property_schema(field.type) for field in info.fields},
    }


def _property_schema(info: msgspec.inspect.Type) -> Document:
    match info:
        case msgspec.inspect.StrType():
            return {"bsonType": "string", **_length_bounds(info.min_length, info.max_length)}
        case msgspec.inspect.BoolType():
            return {"bsonType": "bool"}
        case msgspec.inspect.IntType():
            return {"bsonType": ["int", "long"]}
        case msgspec.inspect.FloatType():
            # The drivers store a Python int as an integer, also in a float field.
            return {"bsonType": ["double", "int", "long"]}
        case msgspec.inspect.ListType():
            return {"bsonType": "array", "items": _property_schema(info.item_type)}
        case msgspec.inspect.StructType():
            return _object_schema(info)
        case msgspec.inspect.UnionType():
            options = [option for option in info.types if not _is_none(option)]
            schema = _property_schema(options[0])
            types = schema["bsonType"]
            return {**schema, "bsonType": [*([types] if isinstance(types, str) else types), "null"]}
    raise TypeError(f"no bsonType for {info}")


def _length_bounds(minimum: int | None, maximum: int | None) -> Document:
    bounds = {"minLength": minimum, "maxLength": maximum}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _is_none(info: msgspec.inspect.Type) -> bool:
    return isinstance(info, msgspec.inspect.NoneType)
