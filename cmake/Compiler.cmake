# ccache where it is installed, also across checkouts in different folders.
find_program(TOY_CCACHE ccache)
if(TOY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=time_macros ${TOY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Warnings and sanitizers of our own code. ggml is built with its own flags (Ggml.cmake).
add_library(toy_flags INTERFACE)
target_compile_features(toy_flags INTERFACE cxx_std_20)
target_compile_options(toy_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                           $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these in correct std::string and std::vector code once it inlines them (gcc bugs 105651, 107852).
  target_compile_options(toy_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that it marks as deprecated.
  target_compile_options(toy_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(TOY_WERROR)
  target_compile_options(toy_flags INTERFACE -Werror)
endif()
if(TOY_SANITIZE STREQUAL "address+undefined")
  target_compile_options(toy_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(toy_flags INTERFACE -fsanitize=address,undefined)
elseif(TOY_SANITIZE STREQUAL "thread")
  target_compile_options(toy_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(toy_flags INTERFACE -fsanitize=thread)
elseif(NOT TOY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "TOY_SANITIZE=${TOY_SANITIZE}: expected address+undefined, thread or nothing")
endif()
if(TOY_FUZZ)
  # libFuzzer's main comes with -fsanitize=fuzzer, which fuzz/CMakeLists.txt adds when it links.
  target_compile_options(toy_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
