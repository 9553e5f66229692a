"""Kernels that programs of Wave take as they are: each function gives a kernel and what binds its symbols."""
