# libsoliton.so: all that the public headers declare, in one library, for Python and for whoever wants a single file to link.
#
#   ninja -C build SolitonShared         build/lib/libsoliton.so, which takes LLVM and the C++ library of this machine
#   ninja -C build SolitonSelfContained  build/lib/self-contained/libsoliton.so, which has both inside: the wheel's
#   target_link_libraries(app PRIVATE Soliton::SolitonShared)
#
# Only names of `soliton` are seen from outside, so that LLVM inside of it lives beside that of other libraries of the
# process. The second is linked from the same archives of ours as the first: nothing is compiled again.

if(NOT TARGET SolitonTuner)
  return()
endif()

# The flags by which a library gets all of the public layers, whoever asks for them.
set(public_layers LINKER:--whole-archive)
foreach(layer ${SOLITON_PLUGIN_LAYERS})
  list(APPEND public_layers $<TARGET_FILE:Soliton${layer}>)
endforeach()
# The tuner, which Python and nobody's plug-in calls.
list(APPEND public_layers $<TARGET_FILE:SolitonTuner> LINKER:--no-whole-archive)

add_library(SolitonShared SHARED ${CMAKE_SOURCE_DIR}/cmake/SharedLibrary.cpp)
set_target_properties(SolitonShared PROPERTIES OUTPUT_NAME soliton LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/SharedSymbols.txt)
target_link_libraries(SolitonShared PRIVATE SolitonTuner SolitonDriver SolitonDisplay SolitonPipeline)
target_link_options(SolitonShared PRIVATE ${public_layers} LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/SharedSymbols.txt
                    LINKER:--no-undefined-version LINKER:-Bsymbolic-functions)
target_include_directories(SolitonShared INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>)
target_compile_features(SolitonShared INTERFACE cxx_std_20)

if(SOLITON_STATIC_LLVM OR SOLITON_SANITIZE)
  return()
endif()

set(layers)
foreach(layer SolitonTuner SolitonDriver SolitonDisplay SolitonPipeline)
  if(NOT layer IN_LIST layers)
    soliton_layers_of(${layer} layers)
  endif()
endforeach()
soliton_static_llvm(llvm)
set(self_contained_symbols ${CMAKE_SOURCE_DIR}/cmake/SelfContainedSymbols.txt)
add_library(SolitonSelfContained SHARED EXCLUDE_FROM_ALL cmake/SharedLibrary.cpp cmake/OlderGlibc.cpp)
set_target_properties(SolitonSelfContained PROPERTIES OUTPUT_NAME soliton LINK_DEPENDS ${self_contained_symbols}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/self-contained)
add_dependencies(SolitonSelfContained ${layers})
list(TRANSFORM layers REPLACE "(.+)" "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/lib\\1.a")
find_library(SOLITON_SQLITE NAMES libsqlite3.a REQUIRED)
target_link_libraries(SolitonSelfContained PRIVATE ${layers} ${llvm} ${SOLITON_SQLITE})
target_link_options(SolitonSelfContained PRIVATE ${public_layers} -static-libstdc++ LINKER:--as-needed LINKER:--gc-sections
                    LINKER:--strip-all LINKER:--version-script=${self_contained_symbols} LINKER:-Bsymbolic-functions)

# bin/self-contained/SolitonGenerate: the same for random kernels, for machines with a GPU and without LLVM (scripts/bundle.sh generator).
if(TARGET SolitonGenerate)
  set(layers)
  soliton_layers_of(SolitonGenerate layers)
  add_executable(SolitonGenerateSelfContained EXCLUDE_FROM_ALL $<TARGET_OBJECTS:SolitonGenerate>)
  set_target_properties(SolitonGenerateSelfContained PROPERTIES OUTPUT_NAME SolitonGenerate LINKER_LANGUAGE CXX ENABLE_EXPORTS ON
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/self-contained)
  add_dependencies(SolitonGenerateSelfContained ${layers})
  list(TRANSFORM layers REPLACE "(.+)" "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/lib\\1.a")
  target_link_libraries(SolitonGenerateSelfContained PRIVATE ${layers} ${llvm})
  target_link_options(SolitonGenerateSelfContained PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed LINKER:--gc-sections)
endif()
