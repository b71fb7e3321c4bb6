# berth-engine-ort: ONNX Runtime itself is loaded at run time; MPI is used where it is found, else its
# small stand-in.
set(ort ${CMAKE_SOURCE_DIR}/engines/ort)
file(GLOB ort_sources CONFIGURE_DEPENDS ${ort}/*.c)
list(FILTER ort_sources EXCLUDE REGEX "/mesh_(mpi|none).c$")
add_executable(berth-engine-ort ${ort_sources})
target_link_libraries(berth-engine-ort PRIVATE berth_static ${CMAKE_DL_LIBS})
target_compile_options(berth-engine-ort PRIVATE $<$<CONFIG:Release>:-O1>)
pkg_check_modules(MPI IMPORTED_TARGET ompi-c)
if(MPI_FOUND)
  target_sources(berth-engine-ort PRIVATE ${ort}/mesh_mpi.c)
  target_link_libraries(berth-engine-ort PRIVATE PkgConfig::MPI)
else()
  target_sources(berth-engine-ort PRIVATE ${ort}/mesh_none.c)
  message(STATUS "no OpenMPI (libopenmpi-dev): berth-engine-ort has no --hosts")
endif()
# berth-engine-torch: a script, with its package beside it; PyTorch is looked for when it runs.
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/engines/torch/berth-engine-torch ${CMAKE_BINARY_DIR}/berth-engine-torch SYMBOLIC)
install(PROGRAMS engines/torch/berth-engine-torch DESTINATION ${CMAKE_INSTALL_BINDIR})
# berth-engine-example: the one to copy from, found by its name, too.
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/engines/example.py ${CMAKE_BINARY_DIR}/berth-engine-example SYMBOLIC)
install(PROGRAMS engines/example.py DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME berth-engine-example)
install(DIRECTORY engines/torch/berth_torch DESTINATION ${CMAKE_INSTALL_DATADIR}/berth PATTERN __pycache__ EXCLUDE)
install(TARGETS berth-engine-ort RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
