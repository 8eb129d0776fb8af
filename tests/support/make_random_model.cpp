// Writes a random model of tests/support: make_random_model RECIPE FILE.gguf. A recipe is a name of random_model.h
// ("f32-d64-g3"), of family_models.h with a type ("gemma2:q8_0"), or of quantize_models.h ("quantize/odd"), whose
// importance matrix is another ("importance/odd"). "saved/gemma2:q8_0" is that model, loaded and written again by toy.
#include <cstdio>
#include <string>

#include "core/error.h"
#include "models/model.h"
#include "models/save_model.h"
#include "support/family_models.h"
#include "support/quantize_models.h"
#include "support/random_model.h"

namespace {

void make(const std::string& name, const char* path) {
    if (name.starts_with("quantize/")) return toy::test::write_quantize_model(name.substr(9), path);
    if (name.starts_with("importance/")) {
        return toy::test::write_legacy_imatrix(toy::test::random_importance(name.substr(11)), path);
    }
    if (name.starts_with("saved/")) {
        const auto model = toy::Model::load(toy::test::family_file(name.substr(6)), toy::Device::cpu());
        toy::SaveOptions options;
        options.tokenizer = &model->file.metadata();
        return toy::save_model(path, model->decoder, options);
    }
    const size_t colon = name.find(':');
    if (colon == name.npos) return toy::test::write_random_model(toy::test::recipe(name), path);
    const std::optional<toy::DType> type = toy::dtype_from_name(name.substr(colon + 1));
    if (!type) toy::bad_input("'{}' names no type", name);
    toy::test::write_family_model(toy::test::family_model(name.substr(0, colon)), *type, path);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: make_random_model RECIPE FILE.gguf\n");
        return 2;
    }
    try {
        make(argv[1], argv[2]);
    } catch (const toy::Error& error) {
        std::fprintf(stderr, "make_random_model: %s\n", error.what());
        return 2;
    }
    return 0;
}
