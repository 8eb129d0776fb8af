/* What the C test programs share: checks that report and go on, and the exit code. */
#ifndef TOY_TESTS_BINDINGS_CHECK_H
#define TOY_TESTS_BINDINGS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tinynn.h"

static int g_failed_checks;

/* What ctest takes for "skipped". */
enum { SKIPPED = 77 };

#define CHECK(condition)                                                                             \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            ++g_failed_checks;                                                                       \
            fprintf(stderr, "%s:%d: not so: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
                    tnn_last_error());                                                               \
        }                                                                                            \
    } while (0)

#define CHECK_NEAR(got, wanted, tolerance) check_near(__FILE__, __LINE__, #got, (got), (wanted), (tolerance))
#define CHECK_ERROR(text) check_error(__FILE__, __LINE__, (text))

static inline void check_near(const char* file, int line, const char* what, double got, double wanted,
                              double tolerance) {
    if (fabs(got - wanted) <= tolerance || (isinf(wanted) && got == wanted)) return;
    ++g_failed_checks;
    fprintf(stderr, "%s:%d: %s is %.9g, not %.9g\n", file, line, what, got, wanted);
}

/* The last failing call must have said so. */
static inline void check_error(const char* file, int line, const char* text) {
    if (strstr(tnn_last_error(), text) != NULL) return;
    ++g_failed_checks;
    fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", file, line, tnn_last_error(), text);
}

static inline int check_result(void) {
    if (g_failed_checks > 0) fprintf(stderr, "%d checks failed\n", g_failed_checks);
    return g_failed_checks > 0 ? 1 : 0;
}

#endif
