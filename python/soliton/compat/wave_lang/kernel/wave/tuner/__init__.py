"""The tuner, with Wave's names."""
