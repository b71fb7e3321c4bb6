# berth-engine-ort: ONNX Runtime itself is loaded at run time; MPI is used where it is found, else its
# small stand-in.
set(ort ${CMAKE_SOURCE_DIR}/engines/ort)
add_executable(berth-engine-ort ${ort}/main.c ${ort}/cpu_model.c ${ort}/engine_parts.c ${ort}/exec_hosts.c ${ort}/exec_threads.c ${ort}/fused_host.c ${ort}/hosts.c ${ort}/hosts_start.c ${ort}/kernel_times.c ${ort}/mesh_talk.c ${ort}/ort_api.c ${ort}/ort_bind.c ${ort}/ort_compare.c
  ${ort}/ort_devices.c ${ort}/ort_model.c ${ort}/ort_op_times.c ${ort}/ort_operators.c ${ort}/ort_plan.c ${ort}/ort_provider.c ${ort}/ort_splice.c ${ort}/ort_spread.c ${ort}/plan_runs.c ${ort}/providers.c ${ort}/quantised.c ${ort}/spread_alone.c ${ort}/spread_copies.c
  ${ort}/spread_label.c ${ort}/spread_times.c ${ort}/workers.c)
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
install(DIRECTORY engines/torch/berth_torch DESTINATION ${CMAKE_INSTALL_DATADIR}/berth PATTERN __pycache__ EXCLUDE)
install(TARGETS berth-engine-ort RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
