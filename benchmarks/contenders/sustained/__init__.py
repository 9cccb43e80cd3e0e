"""The contenders of ``rows_per_second``: each takes the same files, one as one batch, and answers the same windows."""
