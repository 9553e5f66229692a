// Compiled once so that its precompiled header exists; see SolitonLayer.cmake.
