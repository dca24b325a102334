"""What runs in the worker processes and in the fork server: sandbox, loading of the ops, answers to questions.

Starting and replacing these processes is in ``supervisor``, the document of each view in ``views``.
"""
