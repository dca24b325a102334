"""Imports the user's files, finds the ``torch.autograd.Function`` classes in them, and describes each as an ``Op``.

How a Function is called is inferred in ``inference``, the worker process that runs this is ``worker``, and watching the
files for changes is ``reload``.
"""
