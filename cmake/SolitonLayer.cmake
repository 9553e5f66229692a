# soliton_add_layer(): a library that links only what its row of the layer table lists.
#
#   soliton_add_layer(SolitonLayout
#     SOURCES Layout.cpp Fragments.cpp
#     DEPENDS SolitonSupport SolitonSymbolic
#     TESTS LayoutTest.cpp)
#
# MLIR            the layer may include mlir/ and llvm/ headers
# PCH header      its files begin with this one (Pch.cmake says what the others share)
# HEAVY_TESTS     its tests compute more than they are compiled: they are optimised too
# TESTS           GoogleTest files, one binary per layer, named <layer>Tests
# TEST_DEPENDS    what only the tests need (oracles such as z3)

include(StaticLlvm)
include(LayersFirst)
include(Pch)

# soliton_use_mlir(target [TEST]): headers of MLIR and LLVM, and the precompiled one.
function(soliton_use_mlir target)
  soliton_mlir_includes(${target})
  if("TEST" IN_LIST ARGN)
    soliton_compile_quickly(${target})
    soliton_use_pch(${target} MlirTest)
  else()
    soliton_use_pch(${target} Mlir)
  endif()
endfunction()

function(soliton_link_mlir target)
  if(SOLITON_STATIC_LLVM)
    soliton_link_mlir_statically(${target})
  else()
    target_link_libraries(${target} PUBLIC MLIR LLVM)
  endif()
endfunction()

function(soliton_add_layer name)
  cmake_parse_arguments(ARG "MLIR;HEAVY_TESTS" "PCH" "SOURCES;DEPENDS;TESTS;TEST_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_MLIR)
    soliton_use_mlir(${name})
    soliton_link_mlir(${name})
  elseif(ARG_PCH)
    soliton_own_pch(${name} ${ARG_PCH})
  else()
    soliton_use_pch(${name} Plain)
  endif()
  if(SOLITON_TESTS AND ARG_TESTS)
    add_executable(${name}Tests ${ARG_TESTS})
    target_link_libraries(${name}Tests PRIVATE ${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    if(ARG_HEAVY_TESTS)
      soliton_use_pch(${name}Tests Plain)
    elseif(ARG_MLIR)
      soliton_use_mlir(${name}Tests TEST)
    else()
      soliton_compile_quickly(${name}Tests)
      soliton_use_pch(${name}Tests PlainTest)
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
    set_target_properties(${library} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
