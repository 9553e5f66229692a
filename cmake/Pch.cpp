// Compiled once for each precompiled header, so that it exists; see Pch.cmake.
