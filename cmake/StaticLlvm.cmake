# LLVM, MLIR and lld inside of a binary, for machines that have none of it.
#
#   soliton_link_mlir_statically(SolitonIr)          all of a build with -DSOLITON_STATIC_LLVM=ON (the bundle)
#   soliton_static_llvm(archives)                    what a single library of an ordinary build links (the wheel's)
#
# The packaged CMake targets cannot be used for this: each of them links the shared libLLVM, and both together would
# register every option and type twice. So the archives are named by path. A linker takes from an archive only what is
# asked for, and lld does not care about their order. liblldELF asks for all of LLVM's targets (toolchains of LTO), of
# which two are of use here: LeftOut.cpp answers for the others.

set(SOLITON_LLVM_LIBRARY_DIR ${LLVM_LIBRARY_DIR})
if(SOLITON_STATIC_LLVM)
  # For every binary, also those that link no LLVM: the bundle brings no C++ library.
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
endif()

# What LLVM asks for and gets nothing of: Polly, whose archive is a package of its own, and the targets that are no GPUs.
function(soliton_define_left_out)
  set(targets ${LLVM_TARGETS_TO_BUILD})
  list(REMOVE_ITEM targets AMDGPU NVPTX)
  list(TRANSFORM targets REPLACE "(.+)" "LEFT_OUT(\\1)")
  list(JOIN targets "\n" lines)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/LeftOutTargets.inc CONTENT "@lines@\n" @ONLY)
  add_library(SolitonLeftOut OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/LeftOut.cpp)
  target_include_directories(SolitonLeftOut PRIVATE ${CMAKE_BINARY_DIR})
  target_include_directories(SolitonLeftOut SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
endfunction()

function(soliton_static_llvm result)
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
  if(NOT TARGET SolitonLeftOut)
    soliton_define_left_out()
  endif()
  set(${result} $<TARGET_OBJECTS:SolitonLeftOut> ${mlir} ${SOLITON_LLVM_LIBRARY_DIR}/liblldELF.a
      ${SOLITON_LLVM_LIBRARY_DIR}/liblldCommon.a ${llvm} ${SOLITON_STATIC_Z} ${SOLITON_STATIC_ZSTD} m ${CMAKE_DL_LIBS}
      PARENT_SCOPE)
endfunction()

function(soliton_define_static_llvm)
  soliton_static_llvm(archives)
  # Layers that link `z` and `zstd` by name get the archives too.
  foreach(library z zstd)
    string(TOUPPER ${library} upper)
    add_library(${library} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${library} INTERFACE ${SOLITON_STATIC_${upper}})
  endforeach()

  add_library(SolitonStaticLlvm INTERFACE)
  target_link_libraries(SolitonStaticLlvm INTERFACE ${archives})

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
