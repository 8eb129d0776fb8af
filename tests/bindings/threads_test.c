/* Calls from several threads: on sessions of their own, and on one session at once. (Meant for ThreadSanitizer too.) */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 20 };

static void* shared; /* the session that all threads use */
static void* g_cell; /* a persistent tensor of it */

static void* use_own_session(void* number) {
    const double mine = (double)(intptr_t)number;
    intptr_t wrong = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        void* s = tnn_session_new(0);
        void* x = tnn_input_1d_f32(s, 64);
        double values[64];
        for (int j = 0; j < 64; ++j) values[j] = mine + j;
        void* y = tnn_scale(s, x, 3);
        if (tnn_realize(s, y) != 0 || tnn_upload_from_float_array(s, x, values, 64) != 0) ++wrong;
        if (tnn_compute(s) != 0 || tnn_download_to_f64_array(s, y, values, 64) != 0) ++wrong;
        for (int j = 0; j < 64; ++j) wrong += values[j] != 3 * (mine + j);
        /* errors belong to the thread that made them */
        char wanted[32];
        snprintf(wanted, sizeof wanted, "kind %d", 100 + (int)mine);
        if (tnn_session_new(100 + (int)mine) != NULL || strstr(tnn_last_error(), wanted) == NULL) ++wrong;
        tnn_session_free(s);
    }
    return (void*)wrong;
}

static void* use_shared_session(void* number) {
    const int mine = (int)(intptr_t)number;
    intptr_t wrong = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        double value = mine, seen = -1;
        tnn_scratch_set(shared, mine, i);
        wrong += tnn_scratch_get(shared, mine) != i;
        wrong += tnn_upload_from_float_array(shared, g_cell, &value, 1) != 0;
        wrong += tnn_download_to_f64_array(shared, g_cell, &seen, 1) != 0 || !(seen >= 0 && seen < (double)THREADS);
        wrong += tnn_compute(shared) != 0;
        wrong += tnn_tensor_ne0(g_cell) != 1;
    }
    return (void*)wrong;
}

/* Frees the session while others compute on it: their calls fail or succeed, and nothing else happens. */
static void* free_shared_session(void* number) {
    (void)number;
    tnn_session_free(shared);
    return NULL;
}

static void* compute_on_what_goes(void* number) {
    (void)number;
    for (int i = 0; i < ROUNDS; ++i) {
        tnn_compute(shared);
        tnn_tensor_nelements(g_cell);
    }
    return NULL;
}

static void run_together(void* (*work)(void*), void* (*last)(void*)) {
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; ++i) {
        CHECK(pthread_create(&threads[i], NULL, i == THREADS - 1 ? last : work, (void*)i) == 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        void* wrong = NULL;
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
}

int main(void) {
    run_together(use_own_session, use_own_session);
    shared = tnn_session_new(0);
    g_cell = tnn_input_1d_f32_persistent(shared, 1);
    CHECK(tnn_finalize_weights(shared) == 0);
    CHECK(tnn_realize(shared, tnn_scale(shared, g_cell, 2)) == 0);
    run_together(use_shared_session, use_shared_session);
    run_together(compute_on_what_goes, free_shared_session);
    return check_result();
}
