# ggml, the tensor engine, from the first of three places: an installed CMake package of the pinned version,
# the tree named by -DTOY_GGML_SOURCE=, or the tree that scripts/bootstrap.sh unpacked into build/.
set(TOY_GGML_VERSION 0.25.1)
option(TOY_OPENMP "ggml computes on OpenMP's threads instead of its own" OFF)
set(TOY_GGML_SOURCE "" CACHE PATH "A ggml source tree (the folder with ggml's CMakeLists.txt)")

find_package(ggml ${TOY_GGML_VERSION} EXACT CONFIG QUIET)
if(ggml_FOUND AND NOT TOY_GGML_SOURCE)
  message(STATUS "ggml: installed package ${ggml_VERSION}")
  add_library(toy_ggml INTERFACE)
  target_link_libraries(toy_ggml INTERFACE ggml::ggml)
  return()
endif()

set(_ggml_source ${TOY_GGML_SOURCE})
if(NOT _ggml_source)
  set(_ggml_source ${CMAKE_SOURCE_DIR}/build/ggml-source/ggml)
endif()
if(NOT EXISTS ${_ggml_source}/CMakeLists.txt)
  message(FATAL_ERROR "no ggml in ${_ggml_source}: run scripts/bootstrap.sh, or pass -DTOY_GGML_SOURCE=PATH")
endif()

# DESIGN's native build: static, for this CPU, CPU only. LLAMAFILE is off by default outside llama.cpp and worth
# half of the F32 prefill speed.
set(BUILD_SHARED_LIBS OFF)
set(GGML_NATIVE ON CACHE BOOL "" FORCE)
set(GGML_LLAMAFILE ON CACHE BOOL "" FORCE)
set(GGML_ALL_WARNINGS OFF CACHE BOOL "" FORCE)
set(GGML_CCACHE OFF CACHE BOOL "" FORCE) # Compiler.cmake sets the launcher for everything
# ggml asks git for its revision and would be told toy's; every commit of ours would then recompile it.
set(GIT_EXE "" CACHE INTERNAL "")
set(GGML_BUILD_COMMIT unknown)
if(EXISTS ${_ggml_source}/../commit)
  file(STRINGS ${_ggml_source}/../commit GGML_BUILD_COMMIT LIMIT_COUNT 1)
endif()
set(GGML_OPENMP ${TOY_OPENMP} CACHE BOOL "" FORCE)
if(TOY_SANITIZE STREQUAL "thread")
  # TSan cannot see into libgomp, so ggml's own threads are used there.
  set(GGML_OPENMP OFF CACHE BOOL "" FORCE)
  set(GGML_SANITIZE_THREAD ON CACHE BOOL "" FORCE)
elseif(TOY_SANITIZE STREQUAL "address+undefined")
  set(GGML_SANITIZE_ADDRESS ON CACHE BOOL "" FORCE) # not UBSan: ggml's kernels rely on what it forbids
endif()
add_subdirectory(${_ggml_source} ${CMAKE_BINARY_DIR}/ggml EXCLUDE_FROM_ALL SYSTEM)
add_library(toy_ggml INTERFACE)
target_link_libraries(toy_ggml INTERFACE ggml)
# Its headers are not ours to warn about.
target_include_directories(toy_ggml SYSTEM INTERFACE ${_ggml_source}/include)
