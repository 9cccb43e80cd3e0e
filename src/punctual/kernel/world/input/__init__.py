"""What callers give: columns of rows, parameters and wishes, checked once. It imports nothing of what computes."""
