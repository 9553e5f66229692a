# soliton_use_pch(): which precompiled header a target is compiled with. Half of the time of a build is parsing otherwise.
#
#   soliton_use_pch(SolitonLayout Plain)
#
# Plain, PlainTest    the standard library and JSON; with GoogleTest
# Mlir, MlirTest      MLIR, LLVM and our dialects; with GoogleTest
# DriverTest          the compiler's door, the library's kernels and GoogleTest, for tests that look no further inside
#
# Tests run once: compiling them takes half the time without optimisation, which is more than it saves. So the headers of
# tests are compiled without it too; what uses one calls soliton_compile_quickly(), and what computes more than it is
# compiled uses the header of the layers.

# Not for a sanitizer's build, which has flags of its own.
function(soliton_compile_quickly target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  target_compile_options(${target} PRIVATE -O0)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    soliton_take_layers_first(${target})
  endif()
endfunction()

# ccache can then reuse objects that were built against an identical header.
function(soliton_ignore_pch_time target)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

function(soliton_mlir_includes target)
  target_include_directories(${target} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${target} PUBLIC ${definitions})
endfunction()

function(soliton_make_pch kind)
  set(target Soliton${kind}Pch)
  add_library(${target} STATIC ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  if(kind MATCHES "Mlir|Driver") # What links the compiler has MLIR's definitions, too.
    soliton_mlir_includes(${target})
  endif()
  if(kind MATCHES "Mlir")
    add_dependencies(${target} SolitonIrTables)
  endif()
  if(kind MATCHES "Test")
    target_link_libraries(${target} PUBLIC GTest::gtest)
    soliton_compile_quickly(${target})
  endif()
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${kind}Pch.h)
  soliton_ignore_pch_time(${target})
endfunction()

function(soliton_use_pch target kind)
  if(NOT TARGET Soliton${kind}Pch)
    soliton_make_pch(${kind})
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE") # The header was compiled as PIC, and -fPIE would not accept it.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(kind MATCHES "Plain") # GCC's headers silence this themselves, which clang forgets in a precompiled one.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  target_precompile_headers(${target} REUSE_FROM Soliton${kind}Pch)
  soliton_ignore_pch_time(${target})
endfunction()

# What a test consists of beside its tests, or what is run as one: compiled like tests, with GoogleTest where there is one.
function(soliton_use_test_pch target kind)
  if(SOLITON_TESTS)
    target_link_libraries(${target} PRIVATE GTest::gtest)
    soliton_compile_quickly(${target})
    soliton_use_pch(${target} ${kind}Test)
  elseif(NOT kind STREQUAL "Driver")
    soliton_use_pch(${target} ${kind})
  endif()
endfunction()

# A header that all files of one target begin with.
function(soliton_own_pch target header)
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/${header})
  soliton_ignore_pch_time(${target})
endfunction()
