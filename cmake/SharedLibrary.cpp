// libsoliton.so has no code of its own: SharedLibrary.cmake puts the layers into it.
