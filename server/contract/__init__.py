"""The contract X-ray: checks a custom Function against the rules of autograd that torch does not enforce.

The curves and their verdict are in ``numerics``; the document of this view is built in ``views.contract``, and its
schema is in ``schema.views``.
"""
