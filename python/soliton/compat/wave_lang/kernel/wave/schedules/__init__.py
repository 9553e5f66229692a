"""Schedules that programs of Wave take as they are."""
