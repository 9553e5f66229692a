"""A back end of Wave's that is not here."""


def is_waveasm_available() -> bool:
    return False
