#pragma once

/// Before a function whose loops the compiler vectorises: compiles it for three levels of x86-64 and chooses one when
/// the program starts, since the rest of toy is built for any processor. Elsewhere, and under sanitizers (whose
/// checks run before the choice could), the function is compiled once.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TOY_VECTORISE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TOY_VECTORISE
#endif
