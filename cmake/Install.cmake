# What `cmake --install` leaves behind: the libraries, the headers of PublicHeaders.txt, the tools, and a package:
#
#   find_package(Soliton REQUIRED)
#   target_link_libraries(app PRIVATE Soliton::Soliton)
#
# A user needs no headers of LLVM; the shared libraries of LLVM and MLIR are linked by path, as are lld's archives.

if(NOT TARGET SolitonDriver)
  message(STATUS "install: left out, it needs the driver layer")
  return()
endif()
if(SOLITON_STATIC_LLVM)
  message(STATUS "install: left out, the bundle travels as a tool")
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(soliton_libraries "")
foreach(layer Support Symbolic Layout Target Schedule Display Authoring Pipeline Ir Frontend Analysis Transforms
              Interpreter Emulator Backend BackendEmulator Runtime Driver Tuner)
  if(TARGET Soliton${layer})
    list(APPEND soliton_libraries Soliton${layer})
    set_target_properties(Soliton${layer} PROPERTIES EXPORT_NAME ${layer})
  endif()
endforeach()

# The file behind an imported target.
function(soliton_imported_file target result)
  foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_RELWITHDEBINFO IMPORTED_LOCATION_NONE
                   IMPORTED_LOCATION_NOCONFIG)
    get_target_property(file ${target} ${property})
    if(file)
      set(${result} ${file} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "install: `${target}` has no file")
endfunction()

# Inside the build a library is used with the source tree's headers and LLVM's targets; from the package with its own
# headers and LLVM's files.
function(soliton_make_exportable target)
  foreach(property INTERFACE_INCLUDE_DIRECTORIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES INTERFACE_COMPILE_DEFINITIONS)
    get_target_property(values ${target} ${property})
    if(values)
      list(TRANSFORM values REPLACE "^(.+)$" "$<BUILD_INTERFACE:\\1>")
      set_target_properties(${target} PROPERTIES ${property} "${values}")
    endif()
  endforeach()
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES
               "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  set(exported "")
  foreach(link IN LISTS links)
    if(link MATCHES "^(MLIR|LLVM|lldELF|lldCommon)$")
      soliton_imported_file(${link} file)
      list(APPEND exported "$<BUILD_INTERFACE:${link}>" "$<INSTALL_INTERFACE:${file}>")
      if(link STREQUAL "lldELF")
        list(APPEND exported "$<INSTALL_INTERFACE:z>" "$<INSTALL_INTERFACE:zstd>")
      endif()
    elseif(link)
      list(APPEND exported "${link}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${exported}")
endfunction()

foreach(library IN LISTS soliton_libraries)
  soliton_make_exportable(${library})
endforeach()

# What a user links: everything that compiling, launching, declaring pipelines and looking at schedules needs.
add_library(Soliton INTERFACE)
add_library(Soliton::Soliton ALIAS Soliton)
target_link_libraries(Soliton INTERFACE SolitonDriver SolitonDisplay SolitonPipeline)
target_compile_features(Soliton INTERFACE cxx_std_20)

install(TARGETS Soliton ${soliton_libraries} EXPORT SolitonTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SolitonTargets NAMESPACE Soliton:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Soliton)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/SolitonConfig.cmake.in ${CMAKE_BINARY_DIR}/SolitonConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Soliton)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SolitonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/SolitonConfig.cmake ${CMAKE_BINARY_DIR}/SolitonConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Soliton)

file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/PublicHeaders.txt public_headers REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/PublicHeaders.txt)
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

foreach(tool soliton soliton-opt)
  if(TARGET ${tool})
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/soliton)
