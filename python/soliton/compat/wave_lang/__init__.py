"""Wave's package, by Soliton."""
