# soliton_take_layers_first(): a program whose own files are not optimised runs the layers' code as it was optimised.
#
#   soliton_take_layers_first(SolitonE2eTests)
#
# Of an inline function that several files have, a linker keeps the first: with the program's files first, the compiler
# in it would sort, hash and allocate by code that was not optimised (an eighth of the time of SolitonE2eTests). So the
# layers come first, whole; later mentions of them add nothing.

# The layers that `target` links, itself included where it is one.
function(soliton_layers_of target result)
  set(found ${${result}})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND found ${target})
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  foreach(library ${libraries})
    if(library MATCHES "^Soliton" AND TARGET ${library} AND NOT library IN_LIST found)
      soliton_layers_of(${library} found)
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Deferred, since a layer may be defined behind those who link it.
function(soliton_take_layers_first target)
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]] CALL soliton_put_layers_first [[${target}]])")
endfunction()

function(soliton_put_layers_first target)
  set(layers)
  soliton_layers_of(${target} layers)
  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  get_target_property(options ${target} LINK_OPTIONS) # a host of plug-ins has some of them already
  list(REMOVE_ITEM layers ${options})
  if(NOT layers)
    return()
  endif()
  target_link_options(${target} PRIVATE LINKER:--whole-archive ${layers} LINKER:--no-whole-archive)
endfunction()
