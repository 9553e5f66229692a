"""When the instructions of loops happen."""
