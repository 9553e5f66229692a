"""What tests of Wave ask before they begin."""
