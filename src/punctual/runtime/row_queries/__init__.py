"""Row queries on Spark: their types and errors, their prepared plans, their jobs."""
