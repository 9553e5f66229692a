"""Looking at logs."""
