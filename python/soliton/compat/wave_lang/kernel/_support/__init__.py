"""What programs take from the inside of Wave."""
