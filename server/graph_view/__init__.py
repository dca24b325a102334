"""The autograd graph of one call: a trace of forward and backward, the contents of ctx, a drawing and a description.

The view of it as a document is in ``views.graph_node``; the checks of ctx are in ``contract.checks``.
"""
