// Writes a random model of tests/support/random_model.h: make_random_model RECIPE FILE.gguf
#include <cstdio>

#include "core/error.h"
#include "support/random_model.h"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: make_random_model RECIPE FILE.gguf\n");
        return 2;
    }
    try {
        toy::test::write_random_model(toy::test::recipe(argv[1]), argv[2]);
    } catch (const toy::Error& error) {
        std::fprintf(stderr, "make_random_model: %s\n", error.what());
        return 2;
    }
    return 0;
}
