"""What server and worker processes both know: questions, jobs, frames and errors, as plain data.

Starting processes and opening sockets is in ``supervisor`` and ``worker``, the shapes of the answers in ``schema``.
"""
