# soliton_host_plugins(): a program that loads kernels of users' files. Plug-ins link nothing: they take Soliton from the
# program (docs/decisions/0020-plug-ins.md), so all that public headers declare has to be in it, and seen from outside.
#
#   soliton_host_plugins(soliton)

set(SOLITON_PLUGIN_LAYERS Support Symbolic Layout Target Schedule Display Authoring Pipeline Frontend Emulator Runtime Driver)

# Beside the program, as `cmake --install` has them.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/soliton ${CMAKE_BINARY_DIR}/include/soliton SYMBOLIC)

function(soliton_host_plugins program)
  if(SOLITON_STATIC_LLVM) # It travels without headers, and with a C++ library of its own.
    return()
  endif()
  target_link_options(${program} PRIVATE
    LINKER:--dynamic-list=${CMAKE_SOURCE_DIR}/cmake/PluginSymbols.txt LINKER:--whole-archive)
  foreach(layer ${SOLITON_PLUGIN_LAYERS})
    target_link_options(${program} PRIVATE $<TARGET_FILE:Soliton${layer}>)
  endforeach()
  target_link_options(${program} PRIVATE LINKER:--no-whole-archive)
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/PluginSymbols.txt)
endfunction()
