"""What a matrix says about itself; its annotations are types, not strings, which msgspec would have to compile."""

import msgspec


class Meta(msgspec.Struct, frozen=True):
    """data/meta.json: layout version, and the date of the facts (YYYY.MM.DD)."""

    schema_version: int
    """Raised when a field changes its meaning, or may hold a value that an older program would misread."""
    version: str
    schema_minor: int = 0
    """Raised when a column or table is added; an older program reads the rest."""
