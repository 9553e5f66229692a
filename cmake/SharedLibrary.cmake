# libsoliton.so: all that the public headers declare, in one library, for Python and for whoever wants a single file to link.
#
#   ninja -C build SolitonShared         build/lib/libsoliton.so
#   target_link_libraries(app PRIVATE Soliton::SolitonShared)
#
# Only names of `soliton` are seen from outside, so that LLVM inside of it (-DSOLITON_STATIC_LLVM=ON) lives beside that
# of other libraries of the process.

if(NOT TARGET SolitonDriver)
  return()
endif()

add_library(SolitonShared SHARED ${CMAKE_SOURCE_DIR}/cmake/SharedLibrary.cpp)
set_target_properties(SolitonShared PROPERTIES OUTPUT_NAME soliton LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/SharedSymbols.txt)
target_link_libraries(SolitonShared PRIVATE SolitonDriver SolitonDisplay SolitonPipeline)
target_link_options(SolitonShared PRIVATE LINKER:--whole-archive)
foreach(layer ${SOLITON_PLUGIN_LAYERS})
  target_link_options(SolitonShared PRIVATE $<TARGET_FILE:Soliton${layer}>)
endforeach()
target_link_options(SolitonShared PRIVATE LINKER:--no-whole-archive)
target_link_options(SolitonShared PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/SharedSymbols.txt
                    LINKER:--no-undefined-version LINKER:-Bsymbolic-functions)
target_include_directories(SolitonShared INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>)
target_compile_features(SolitonShared INTERFACE cxx_std_20)
