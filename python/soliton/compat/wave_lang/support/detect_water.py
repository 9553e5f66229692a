"""A back end of Wave's that is not here."""


def is_water_available() -> bool:
    return False
