# What makes a fault in the programs and the shared library harder to use by those who wrote a file that
# berth reads: places in memory that nobody knows (PIE), tables of the loader that cannot be written (full
# RELRO), no executable stack, checked stacks and buffers, checked targets of jumps. docs/security.md has what
# it costs. Debug builds, sanitizers and coverage go without: they check more, or want the code as it stands.
include(CheckCCompilerFlag)
include(CheckPIESupported)
if(CMAKE_BUILD_TYPE STREQUAL Debug OR BERTH_SANITIZE OR BERTH_COVERAGE OR BERTH_FUZZ)
  set(BERTH_HARDEN_DEFAULT OFF)
else()
  set(BERTH_HARDEN_DEFAULT ON)
endif()
option(BERTH_HARDEN "Harden the programs and the shared library" ${BERTH_HARDEN_DEFAULT})

if(BERTH_HARDEN)
  check_pie_supported(LANGUAGES C)
  foreach(flag stack-protector-strong stack-clash-protection cf-protection=full)
    string(MAKE_C_IDENTIFIER BERTH_HAS_${flag} has)
    check_c_compiler_flag(-f${flag} ${has})
    if(${has})
      add_compile_options(-f${flag})
    endif()
  endforeach()
  # Some compilers define it themselves, lower.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
endif()
