/* What the C decode test gets from C++: small random models, and toy's own engine to compare with. */
#ifndef TOY_TESTS_BINDINGS_ORACLES_H
#define TOY_TESTS_BINDINGS_ORACLES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The path of a random model (tests/support/random_model.h), or NULL. */
const char* oracle_random_model(const char* recipe);

/* The engine's greedy continuation of `prompt` tokens, one token at a time with an F32 cache: fills ids[prompt..steps]
 * and, row by row, the `steps` rows of logits. 0, or -1 after a message. */
int oracle_decode(const char* path, int prompt, int steps, int32_t* ids, float* logits);

#ifdef __cplusplus
}
#endif

#endif
