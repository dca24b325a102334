"""Hot reload of the user's files: watches them, and loads them in a new worker after every save.

The event stream that tells the pages is in ``routes.own``, importing the files in ``user_code``.
"""
