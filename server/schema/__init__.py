"""The JSON documents of the API as pydantic models, from which the components of /openapi.json are generated.

Nothing is validated or converted through them. The records that the numerics work with are in ``numerics`` under the
same names without the suffix ``Schema``; the documents are written by ``documents``.
"""

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
