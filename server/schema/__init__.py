"""The JSON documents of the API as dataclasses, from which the components of /openapi.json are generated.

Nothing is validated or converted through them. The records that the numerics work with are in ``numerics`` under the
same names without the suffix ``Schema``; the documents are written by ``documents``.
"""
