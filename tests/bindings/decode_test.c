/* Decoding through the C interface as the older programs did it, in NEOX order and head by head, against two others: a
 * decoder in plain C with 64-bit floats, and toy's engine.
 *
 * usage: decode_test RECIPE     a random model of tests/support/random_model.h
 *        decode_test stories MODEL.gguf TEXT     the trained model, whose text is known */
#define _GNU_SOURCE /* for sched.h */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "float64_llama.h"
#include "oracles.h"
#include "tinynn_llama.h"

enum { PROMPT = 12, STEPS = 24, STORY = 200, BOS = 1 };

static int best(const double* logits, int n) {
    int at = 0;
    for (int i = 1; i < n; ++i) at = logits[i] > logits[at] ? i : at;
    return at;
}

/* The largest difference of log-probabilities, for logits of at most 1: models whose logits are larger magnify every
 * rounding with them. */
static double distance(const double* a, const double* b, int n) {
    double sum_a = 0, sum_b = 0, most = 0, largest = 1;
    for (int i = 0; i < n; ++i) sum_a += exp(a[i]), sum_b += exp(b[i]), largest = fmax(largest, fabs(a[i]));
    for (int i = 0; i < n; ++i) most = fmax(most, fabs(a[i] - log(sum_a) - b[i] + log(sum_b)));
    return most / largest;
}

/* One way to decode, what it may differ from each oracle, and whether its tokens must be the same. */
typedef struct {
    const char* what;
    int cache_type, is_fused;
    double tolerance;
    int same_tokens;
} way;

static void compare(void* gguf, const way* w, const int32_t* ids, const double* float64_rows,
                    const float* engine_rows) {
    const int n = read_config(gguf).vocabulary;
    tinynn_llama* model = tinynn_llama_new(gguf, STEPS, w->cache_type, w->is_fused);
    CHECK(model != NULL);
    if (model == NULL) return;
    double* logits = malloc((size_t)n * sizeof *logits);
    double* engine = malloc((size_t)n * sizeof *engine);
    double from_float64 = 0, from_engine = 0;
    for (int i = 0; i < STEPS; ++i) {
        const int status = tinynn_llama_step(model, ids[i], i, logits);
        CHECK(status == 0);
        if (status != 0) break;
        for (int j = 0; j < n; ++j) engine[j] = engine_rows[i * n + j];
        from_float64 = fmax(from_float64, distance(logits, float64_rows + i * n, n));
        from_engine = fmax(from_engine, distance(logits, engine, n));
        if (w->same_tokens) CHECK(best(logits, n) == best(engine, n));
    }
    printf(
        "%s: largest difference of log-probabilities, by the largest logit: %.2g from float64, %.2g from the engine\n",
        w->what, from_float64, from_engine);
    CHECK_NEAR(from_float64, 0, w->tolerance);
    CHECK_NEAR(from_engine, 0, w->tolerance);
    free(logits);
    free(engine);
    tinynn_llama_free(model);
}

/* All ways see a prompt and then the tokens that the engine chose. */
static void test_random_model(const char* recipe) {
    const char* path = oracle_random_model(recipe);
    CHECK(path != NULL);
    void* gguf = tnn_gguf_load(path);
    CHECK(gguf != NULL);
    if (gguf == NULL) return;
    const int n = read_config(gguf).vocabulary;
    const int is_quantized = tnn_gguf_tensor_is_quantized(gguf, tnn_gguf_find_index(gguf, "token_embd.weight"));
    int32_t ids[STEPS + 1] = {BOS};
    float* engine_rows = calloc((size_t)(STEPS * n), sizeof *engine_rows);
    double* float64_rows = calloc((size_t)(STEPS * n), sizeof *float64_rows);
    /* Different tokens, so that attention has something to choose from: small random models repeat themselves. */
    for (int i = 1; i < PROMPT; ++i) ids[i] = 100 + 37 * i % (n - 100);
    CHECK(oracle_decode(path, PROMPT, STEPS, ids, engine_rows) == 0);
    float64_llama* reference = float64_llama_new(gguf, STEPS);
    for (int i = 0; i < STEPS; ++i) float64_llama_step(reference, ids[i], i, float64_rows + i * n);
    float64_llama_free(reference);

    /* Twice what was measured. Quantised weights bring the rounding of activations to 8 bits. */
    const way ways[] = {{"F32 cache, head by head", 0, 0, is_quantized ? 0.06 : 2e-6, !is_quantized},
                        {"F32 cache, fused", 0, 1, is_quantized ? 0.06 : 2e-6, !is_quantized},
                        {"F16 cache, fused", 1, 1, is_quantized ? 0.07 : 4e-3, 0},
                        {"Q8_0 cache, fused", 8, 1, is_quantized ? 0.09 : 0.04, 0}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) compare(gguf, &ways[i], ids, float64_rows, engine_rows);
    free(engine_rows);
    free(float64_rows);
    tnn_gguf_free(gguf);
}

/* Appends a token's text: "▁" is a space, "<0x0A>" a byte. */
static void append_piece(void* gguf, int id, char* text, size_t size) {
    const char* piece = tnn_gguf_arr_str(gguf, "tokenizer.ggml.tokens", id);
    unsigned byte = 0;
    if (strlen(piece) == 6 && sscanf(piece, "<0x%02X>", &byte) == 1) {
        const size_t end = strlen(text);
        if (end + 1 < size) text[end] = (char)byte, text[end + 1] = '\0';
        return;
    }
    for (const char* c = piece; *c != '\0';) {
        const int is_space = strncmp(c, "\xE2\x96\x81", 3) == 0;
        const size_t end = strlen(text);
        if (end + 1 < size) text[end] = is_space ? ' ' : *c, text[end + 1] = '\0';
        c += is_space ? 3 : 1;
    }
}

static int test_stories(const char* path, const char* text_path) {
    char wanted[4096] = "", text[4096] = "";
    FILE* file = fopen(text_path, "rb");
    if (file == NULL) {
        printf("skipped: needs %s, which is not part of this repository\n", text_path);
        return SKIPPED;
    }
    wanted[fread(wanted, 1, sizeof wanted - 1, file)] = '\0';
    fclose(file);
    void* gguf = tnn_gguf_load(path);
    CHECK(gguf != NULL);
    if (gguf == NULL) return check_result();
    const int n = read_config(gguf).vocabulary;
    double* logits = malloc((size_t)n * sizeof *logits);
    float* engine_rows = calloc((size_t)(STORY * n), sizeof *engine_rows);
    int32_t ids[STORY + 1] = {BOS};
    CHECK(oracle_decode(path, 1, STORY, ids, engine_rows) == 0);
    free(engine_rows);
    tinynn_llama* model = tinynn_llama_new(gguf, STORY, 0, 0);
    tnn_gguf_free(gguf); /* the session keeps the mapped file */
    gguf = tnn_gguf_load(path);
    int id = BOS;
    for (int i = 0; i < STORY; ++i) {
        const int status = tinynn_llama_step(model, id, i, logits);
        CHECK(status == 0);
        if (status != 0) break;
        id = best(logits, n);
        CHECK(id == ids[i + 1]);
        append_piece(gguf, id, text, sizeof text);
    }
    CHECK(strcmp(text + (text[0] == ' '), wanted) == 0);
    tinynn_llama_free(model);
    tnn_gguf_free(gguf);
    free(logits);
    return check_result();
}

/* On one processor both engines compute with one thread. The graphs here have hundreds of tiny nodes, at each of which
 * a second thread would only be waited for: twenty times as long where the machine is busy. */
static void stay_on_one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char** argv) {
    stay_on_one_processor();
    if (argc == 4 && strcmp(argv[1], "stories") == 0) return test_stories(argv[2], argv[3]);
    if (argc != 2) {
        fprintf(stderr, "usage: decode_test RECIPE | decode_test stories MODEL.gguf TEXT\n");
        return 2;
    }
    test_random_model(argv[1]);
    return check_result();
}
