"""The derivatives and the verdict. Knows torch and the ops; has never heard of HTTP."""
