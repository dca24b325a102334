"""Names of the components in /openapi.json: those of the classes of this package, without their suffix ``Schema``."""

from __future__ import annotations

from pydantic.json_schema import GenerateJsonSchema

_SUFFIX = "Schema"


class ComponentNames(GenerateJsonSchema):
    """Generates JSON schemas whose definitions bear the published names."""

    def normalize_name(self, name: str) -> str:
        """The key of a definition, and the last part of every ``$ref`` to it."""
        return super().normalize_name(name).removesuffix(_SUFFIX)


def component_name(shape: type) -> str:
    """The name under which a class of this package is published."""
    return shape.__name__.removesuffix(_SUFFIX)
