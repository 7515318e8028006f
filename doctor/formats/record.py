"""A named tuple whose class costs a tenth of `typing.NamedTuple`, which compiles each annotation and a constructor.

A start makes some twenty of them. To a type checker it is `NamedTuple` itself.
"""

from typing import TYPE_CHECKING

__all__ = ["Record"]

if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    from collections import _tuplegetter

    class _Fields(type):
        def __new__(mcs, name, bases, body):
            if bases:
                fields = tuple(body.get("__annotations__", ()))
                body["_field_defaults"] = {field: body[field] for field in fields if field in body}
                body["_fields"] = body["__match_args__"] = fields
                for index, field in enumerate(fields):
                    body[field] = _tuplegetter(index, None)
            return super().__new__(mcs, name, bases or (tuple,), {**body, "__slots__": ()})

    class Record(metaclass=_Fields):
        """`class Point(Record)` with annotated fields, and defaults for the last of them."""

        def __new__(cls, *values, **named):
            fields = cls._fields
            if named or len(values) != len(fields):
                rest = fields[len(values) :]
                try:
                    values += tuple(
                        [named.pop(field) if field in named else cls._field_defaults[field] for field in rest]
                    )
                except KeyError as missing:
                    raise TypeError(f"{cls.__name__}() needs {missing}") from None
                if named or len(values) != len(fields):
                    raise TypeError(f"{cls.__name__}() takes {', '.join(fields)} once each")
            return tuple.__new__(cls, values)

        def _replace(self, **changes):
            return type(self)(**{**self._asdict(), **changes})

        def _asdict(self):
            return {field: getattr(self, field) for field in self._fields}

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"

        def __getnewargs__(self):
            return tuple(self)
