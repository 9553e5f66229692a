# soliton_link_mlir_statically(): everything of LLVM, MLIR and lld inside the binary, for machines that have none of it.
#
#   soliton_link_mlir_statically(SolitonIr)
#
# The packaged CMake targets cannot be used for this: each of them links the shared libLLVM, and both together would
# register every option and type twice. So the archives are named by path. A linker takes from an archive only what is
# asked for, and lld does not care about their order; liblldELF asks for all of LLVM's targets (toolchains of LTO).

if(NOT SOLITON_STATIC_LLVM)
  return()
endif()

set(SOLITON_LLVM_LIBRARY_DIR ${LLVM_LIBRARY_DIR})
# For every binary, also those that link no LLVM: the bundle brings no C++ library.
add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)

function(soliton_define_static_llvm)
  file(GLOB mlir ${SOLITON_LLVM_LIBRARY_DIR}/libMLIR*.a)
  # The C interface and the JIT's helpers are of no use here.
  list(FILTER mlir EXCLUDE REGEX "CAPI|ExecutionEngine|_runner|Test")
  file(GLOB llvm ${SOLITON_LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(LENGTH mlir mlir_count)
  list(LENGTH llvm llvm_count)
  if(mlir_count LESS 100 OR llvm_count LESS 100)
    message(FATAL_ERROR "static link: found ${mlir_count} archives of MLIR and ${llvm_count} of LLVM in "
                        "${SOLITON_LLVM_LIBRARY_DIR}, expected hundreds; hint: install llvm-22-dev and libmlir-22-dev")
  endif()
  find_library(SOLITON_STATIC_Z NAMES libz.a REQUIRED)
  find_library(SOLITON_STATIC_ZSTD NAMES libzstd.a REQUIRED)

  # Layers that link `z` and `zstd` by name get the archives too.
  foreach(library z zstd)
    string(TOUPPER ${library} upper)
    add_library(${library} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${library} INTERFACE ${SOLITON_STATIC_${upper}})
  endforeach()

  # LLVM's list of built-in extensions names Polly, whose archive is a package of its own.
  add_library(SolitonNoPolly STATIC ${CMAKE_SOURCE_DIR}/cmake/NoPolly.cpp)
  target_include_directories(SolitonNoPolly SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})

  add_library(SolitonStaticLlvm INTERFACE)
  target_link_libraries(SolitonStaticLlvm INTERFACE
    ${mlir} ${SOLITON_LLVM_LIBRARY_DIR}/liblldELF.a ${SOLITON_LLVM_LIBRARY_DIR}/liblldCommon.a ${llvm} SolitonNoPolly
    ${SOLITON_STATIC_Z} ${SOLITON_STATIC_ZSTD} m ${CMAKE_DL_LIBS})

  # Layers that name lld's targets must not bring the shared libLLVM with them.
  foreach(library lldELF lldCommon)
    set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "")
  endforeach()
endfunction()

function(soliton_link_mlir_statically target)
  if(NOT TARGET SolitonStaticLlvm)
    soliton_define_static_llvm()
  endif()
  target_link_libraries(${target} PUBLIC SolitonStaticLlvm)
endfunction()
