"""MongoDB's own guard: a `$jsonSchema` for each kind, made from its record's types."""

from typing import Any

import msgspec

from storage.records.kinds import Document, Kind


def build_validator(kind: Kind[Any]) -> Document:
    """What `collMod` and `create` take as validator: types and required fields of the record.

    Derived fields, which only the database sees, are allowed beside them.
    """
    info = msgspec.inspect.type_info(kind.record_type)
    assert isinstance(info, msgspec.inspect.StructType)
    schema = _object_schema(info)
    properties = schema["properties"]
    if "id" in properties:
        properties["_id"] = properties.pop("id")
        schema["required"] = ["_id" if name == "id" else name for name in schema["required"]]
    return {"$jsonSchema": schema}


def _object_schema(info: msgspec.inspect.StructType) -> Document:
    return {
        "bsonType": "object",
        "required": [field.encode_name for field in info.fields],
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
