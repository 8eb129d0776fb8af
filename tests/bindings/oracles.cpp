#include "oracles.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "engine/inference.h"
#include "support/random_model.h"

using namespace toy;

const char* oracle_random_model(const char* recipe) {
    try {
        return test::random_model(recipe).c_str();
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return nullptr;
    }
}

int oracle_decode(const char* path, int prompt, int steps, int32_t* ids, float* logits) {
    try {
        const auto model = Model::load(path, Device::cpu());
        Inference inference(model, Device::cpu(),
                            {.context = steps, .cache_type = DType::F32, .flash_attention = false, .repack = false});
        for (int i = 0; i < steps; ++i) {
            const Piece piece{0, i, {ids + i, 1}, {0}};
            const std::vector<float> row = inference.step({&piece, 1});
            std::copy(row.begin(), row.end(), logits + static_cast<size_t>(i) * row.size());
            if (i + 1 < prompt) continue;
            ids[i + 1] = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
        }
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return -1;
    }
}
