# What `cmake --install` puts in place: the program, libberth both ways, the users' header, the Python module,
# the manual page, and files for pkg-config and find_package.
include(CMakePackageConfigHelpers)

add_library(berth_shared SHARED ${BERTH_OBJECTS})
target_link_libraries(berth_shared PRIVATE ${BERTH_LINK})
target_include_directories(berth_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
set_target_properties(berth_shared PROPERTIES OUTPUT_NAME berth VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME berth)
set_target_properties(berth_static PROPERTIES EXPORT_NAME berth_static)
target_include_directories(berth_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS berth_shared berth_static EXPORT berthTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Where the module finds the library from then on; a checkout has no such file.
file(WRITE ${CMAKE_BINARY_DIR}/_installed.py "LIBRARY = \"../../../libberth.so.${PROJECT_VERSION_MAJOR}\"  # from this folder\n")
install(FILES ${CMAKE_BINARY_DIR}/_installed.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/python3/dist-packages/berth)
install(DIRECTORY python/berth DESTINATION ${CMAKE_INSTALL_LIBDIR}/python3/dist-packages PATTERN __pycache__ EXCLUDE)
install(FILES include/berth.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES docs/berth.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_package_config_file(cmake/berthConfig.cmake.in ${CMAKE_BINARY_DIR}/berthConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT berthTargets NAMESPACE berth:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/berthConfig.cmake ${CMAKE_BINARY_DIR}/berthConfigVersion.cmake DESTINATION ${package_dir})

# berth.pc finds its prefix from its own place, so that an installed tree can be put anywhere and moved.
# Folders that were given as absolute paths stay where they are.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up ${up})
  set(PC_PREFIX "\${pcfiledir}/${up}")
  set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/berth.pc.in ${CMAKE_BINARY_DIR}/berth.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
