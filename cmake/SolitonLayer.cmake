# soliton_add_layer(): a library that links only what its row of the layer table lists.
#
#   soliton_add_layer(SolitonLayout
#     SOURCES Layout.cpp Fragments.cpp
#     DEPENDS SolitonSupport SolitonSymbolic
#     TESTS LayoutTest.cpp)
#
# MLIR            the layer may include mlir/ and llvm/ headers; all such layers share one precompiled header
# HEAVY_TESTS     its tests compute more than they are compiled: they are optimised too
# TESTS           GoogleTest files, one binary per layer, named <layer>Tests
# TEST_DEPENDS    what only the tests need (oracles such as z3)

include(StaticLlvm)

set(SOLITON_PCH_HEADER "${CMAKE_SOURCE_DIR}/cmake/MlirPch.h")

function(soliton_use_mlir target)
  target_include_directories(${target} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${target} PUBLIC ${definitions})
  if(NOT TARGET SolitonMlirPch)
    add_library(SolitonMlirPch STATIC ${CMAKE_SOURCE_DIR}/cmake/MlirPch.cpp)
    target_include_directories(SolitonMlirPch PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_include_directories(SolitonMlirPch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    target_compile_definitions(SolitonMlirPch PUBLIC ${definitions})
    target_precompile_headers(SolitonMlirPch PRIVATE ${SOLITON_PCH_HEADER})
    # ccache can then reuse objects that were built against an identical header.
    target_compile_options(SolitonMlirPch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "EXECUTABLE") # The header was compiled as PIC, and -fPIE would not accept it.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM SolitonMlirPch)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

function(soliton_link_mlir target)
  if(SOLITON_STATIC_LLVM)
    soliton_link_mlir_statically(${target})
  else()
    target_link_libraries(${target} PUBLIC MLIR LLVM)
  endif()
endfunction()

# Tests run once: compiling them takes half the time without optimisation, which is more than it saves. Not for those that share
# the precompiled headers of MLIR, nor for a sanitizer's build, which has flags of its own.
function(soliton_compile_quickly target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

function(soliton_add_layer name)
  cmake_parse_arguments(ARG "MLIR;HEAVY_TESTS" "" "SOURCES;DEPENDS;TESTS;TEST_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_MLIR)
    soliton_use_mlir(${name})
    soliton_link_mlir(${name})
  endif()
  if(SOLITON_TESTS AND ARG_TESTS)
    add_executable(${name}Tests ${ARG_TESTS})
    target_link_libraries(${name}Tests PRIVATE ${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    if(ARG_MLIR)
      soliton_use_mlir(${name}Tests)
    elseif(NOT ARG_HEAVY_TESTS)
      soliton_compile_quickly(${name}Tests)
    endif()
    set_property(GLOBAL APPEND PROPERTY SOLITON_TEST_BINARIES ${name}Tests)
    add_test(NAME ${name} COMMAND ${name}Tests)
  endif()
endfunction()

option(SOLITON_FUZZ "instrument what the fuzzers exercise, for long runs" OFF)

# soliton_add_fuzzer(): a libFuzzer target of one file. Always built with the tests, so that `make test` gives each a short run;
# -DSOLITON_FUZZ=ON instruments it and its library for a long one.
#
#   soliton_add_fuzzer(SolitonExprFuzzer ExprFuzzer.cpp SolitonSymbolic)
function(soliton_add_fuzzer name source library)
  if(NOT SOLITON_TESTS OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${library})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(SOLITON_FUZZ)
    target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
