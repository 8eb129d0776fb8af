// The trainer: micro-batches, documents, clipping, numbers that are none, and every family's gradients.
#include "engine/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.h"
#include "core/temp_folder.h"
#include "engine/training_state.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

const TrainableModel::Choice k_all = [](std::string_view) { return true; };

Batch random_batch(int64_t rows, int64_t tokens, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<int32_t> token(3, 511);
    Batch batch(rows, tokens);
    for (size_t i = 0; i < batch.ids.size(); ++i) {
        batch.ids[i] = token(random);
        batch.targets[i] = token(random);
    }
    return batch;
}

TrainableModel load(const std::string& name, const TrainableModel::Choice& choice = k_all) {
    return {Model::load(test::family_file(name), Device::cpu()), Device::cpu(), choice};
}

std::vector<std::vector<float>> gradients(TrainableModel& model, const Batch& batch, const TrainingShape& shape,
                                          int threads = 2) {
    TrainingGraph graph(model.decoder(), model.trained(), shape, Device::cpu());
    Runner runner(Device::cpu(), threads);
    graph.write(batch, 1.0f / static_cast<float>(batch.ids.size()));
    runner.run(graph.graph());
    std::vector<std::vector<float>> all;
    for (const TrainableModel::Entry& entry : model.entries()) {
        all.push_back(read_f32(entry.tensors.gradient));
        clear(entry.tensors.gradient);
    }
    return all;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double errors = 0, squares = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        errors += std::pow(static_cast<double>(a[i]) - b[i], 2);
        squares += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(errors / std::max(squares, 1e-300));
}

class EveryFamily : public testing::TestWithParam<std::string> {};

// The kernels against the plain composition of ggml's operators; activations kept or computed again; one thread or
// three, which give the same bits.
TEST_P(EveryFamily, GradientsDoNotDependOnTheWay) {
    TrainableModel model = load(GetParam());
    const Batch batch = random_batch(2, 40, 5);
    const TrainingShape shape{.rows = 2, .tokens = 40};
    TrainingShape plain = shape, again = shape;
    plain.form = AttentionForm::plain;
    plain.has_kernels = false;
    again.is_recomputing = true;
    const auto expected = gradients(model, batch, plain), ours = gradients(model, batch, shape);
    const auto recomputed = gradients(model, batch, again), three = gradients(model, batch, shape, 3);
    double largest = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
        const std::string& name = model.entries()[i].name;
        const double error = difference(ours[i], expected[i]);
        EXPECT_LT(error, 1e-4) << name;
        EXPECT_EQ(ours[i], three[i]) << name;
        EXPECT_EQ(ours[i], recomputed[i]) << name;
        largest = std::max(largest, error);
    }
    RecordProperty("kernels_against_plain", fmt::format("{:.1e}", largest));
}

std::vector<std::string> families() {
    std::vector<std::string> names;
    for (const std::string& name : test::family_model_names()) {
        if (!test::is_slow_family(name) && !test::family_model(name).is_encoder) names.push_back(name + ":f32");
    }
    return names;
}
INSTANTIATE_TEST_SUITE_P(All, EveryFamily, testing::ValuesIn(families()),
                         [](const auto& test) { return test::test_name(test.param); });

// unsloth-zoo#6, transformers#34191: ragged micro-batches count by their targets, not each the same.
TEST(Trainer, SmallBatchesGiveTheStepOfOneBigBatch) {
    Batch whole = random_batch(4, 24, 1);
    for (size_t i = 0; i < 40; ++i) whole.targets[i] = -1;
    std::vector<Batch> parts;
    for (int i = 0; i < 4; ++i) {
        const auto cut = [&](const std::vector<int32_t>& v) {
            return std::vector<int32_t>(v.begin() + i * 24, v.begin() + (i + 1) * 24);
        };
        Batch part(1, 24);
        part.ids = cut(whole.ids);
        part.targets = cut(whole.targets);
        parts.push_back(part);
    }
    Runner runner(Device::cpu(), 2);
    TrainableModel one = load("llama:f32"), many = load("llama:f32");
    Trainer big(one, runner, {.shape = {.rows = 4, .tokens = 24}, .clip = 0.5f});
    Trainer small(many, runner, {.shape = {.rows = 1, .tokens = 24}, .clip = 0.5f});
    const StepReport a = big.step({&whole, 1}, 1e-3), b = small.step(parts, 1e-3);
    EXPECT_EQ(a.targets, 56);
    EXPECT_EQ(b.targets, 56);
    EXPECT_NEAR(a.loss, b.loss, 1e-6 * a.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * a.gradient_norm);
    EXPECT_NEAR(big.evaluate({&whole, 1}).loss, small.evaluate(parts).loss, 1e-5);
}

TEST(Trainer, LearnsABatchByHeart) {
    const Batch batch = random_batch(2, 16, 3);
    Runner runner(Device::cpu(), 2);
    TrainableModel model = load("gpt2:f32");
    Trainer trainer(model, runner, {.shape = {.rows = 2, .tokens = 16}, .clip = 1.0f});
    const double first = trainer.step({&batch, 1}, 1e-3).loss;
    for (int i = 0; i < 30; ++i) trainer.step({&batch, 1}, 1e-3);
    EXPECT_GT(first, 6.0);
    EXPECT_LT(trainer.evaluate({&batch, 1}).loss, 0.1);
}

// LlamaFactory#4224, torchtune#875: documents that share a row give what they give alone.
TEST(Trainer, DocumentsOfOneRowDoNotSeeEachOther) {
    constexpr int64_t k_first = 50, k_second = 46, k_row = k_first + k_second;
    for (const char* name : {"llama:f32", "gemma2:f32", "gpt2:f32", "olmoe:f32"}) {
        TrainableModel model = load(name);
        Batch packed = random_batch(1, k_row, 9);
        Batch apart(2, k_row);  // what fills up a row is not learnt, and comes after what is
        for (int64_t i = 0; i < k_row; ++i) {
            const bool is_first = i < k_first;
            const auto at = static_cast<size_t>(is_first ? i : k_row + i - k_first), from = static_cast<size_t>(i);
            packed.positions[from] = static_cast<int32_t>(is_first ? i : i - k_first);
            apart.ids[at] = packed.ids[from];
            apart.targets[at] = packed.targets[from];
        }
        for (AttentionForm form : {AttentionForm::rows, AttentionForm::plain}) {
            const TrainingShape one{.rows = 1, .tokens = k_row, .has_documents = true, .form = form};
            const TrainingShape two{.rows = 2, .tokens = k_row, .form = form};
            const auto together = gradients(model, packed, one), expected = gradients(model, apart, two);
            for (size_t i = 0; i < expected.size(); ++i) {
                // The scale is one over all rows of the batch, of which the second has twice as many.
                std::vector<float> scaled = expected[i];
                for (float& value : scaled) value *= 2.0f;
                EXPECT_LT(difference(together[i], scaled), 2e-5) << name << " " << model.entries()[i].name;
            }
        }
    }
}

TEST(Trainer, DocumentsDoNotShareARowWhereAStateWouldCross) {
    TrainableModel model = load("mamba:f32");
    TrainingGraph graph(model.decoder(), model.trained(), {.rows = 1, .tokens = 8, .has_documents = true},
                        Device::cpu());
    Batch batch = random_batch(1, 8, 1);
    batch.positions = {0, 1, 2, 0, 1, 2, 3, 4};
    EXPECT_THROW(graph.write(batch, 1.0f), Error);
    batch.positions = {0, 1, 2, 4, 5, 6, 7, 8};
    EXPECT_THROW(graph.write(batch, 1.0f), Error);
    batch.positions = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_NO_THROW(graph.write(batch, 1.0f));
    // Padding, which packing counts from 0 again, is no document that a state could reach.
    batch.positions = {0, 1, 2, 3, 4, 0, 1, 2};
    EXPECT_THROW(graph.write(batch, 1.0f), Error);
    std::fill(batch.targets.begin() + 5, batch.targets.end(), Batch::k_ignored);
    EXPECT_NO_THROW(graph.write(batch, 1.0f));
}

TEST(Trainer, OnlyChosenWeightsChange) {
    const Batch batch = random_batch(1, 16, 3);
    Runner runner(Device::cpu(), 2);
    TrainableModel model = load("llama:q8_0", [](std::string_view name) { return name.ends_with("attn_q.weight"); });
    EXPECT_EQ(model.entries().size(), 2U);
    Trainer trainer(model, runner, {.shape = {.rows = 1, .tokens = 16}});
    const double first = trainer.step({&batch, 1}, 1e-3).loss;
    for (int i = 0; i < 5; ++i) trainer.step({&batch, 1}, 1e-3);
    EXPECT_LT(trainer.evaluate({&batch, 1}).loss, first);
}

// lcpp#2632, #4079: adapters of a frozen base of any type, gradients through quantised weights and experts.
TEST(Trainer, AdaptersLearnOverAFrozenBase) {
    const Batch batch = random_batch(2, 16, 3);
    Runner runner(Device::cpu(), 2);
    for (const char* name : {"llama:f32", "llama:q4_k", "gpt2:q8_0", "mixtral:q6_k"}) {
        TrainableModel model(
            Model::load(test::family_file(name), Device::cpu()), Device::cpu(),
            [](std::string_view weight) { return weight.starts_with("blk."); }, AdapterOptions{.rank = 4});
        Trainer trainer(model, runner, {.shape = {.rows = 2, .tokens = 16}, .clip = 1.0f});
        const double before = trainer.evaluate({&batch, 1}).loss;
        EXPECT_NEAR(trainer.step({&batch, 1}, 3e-3).loss, before, 1e-6) << name;  // B is 0: nothing has changed
        for (int i = 0; i < 40; ++i) trainer.step({&batch, 1}, 3e-3);
        EXPECT_LT(trainer.evaluate({&batch, 1}).loss, 0.5 * before) << name;
    }
}

TEST(Trainer, AdaptersOfAnImpossibleRankAreRefused) {
    const auto base = Model::load(test::family_file("llama:f32"), Device::cpu());
    const TrainableModel::Choice all = [](std::string_view) { return true; };
    for (int64_t rank : {0, -1, 129}) {
        EXPECT_THROW(TrainableModel(base, Device::cpu(), all, {.rank = rank}), Error) << rank;
    }
    EXPECT_THROW(TrainableModel(
                     base, Device::cpu(), [](std::string_view) { return false; }, AdapterOptions{}),
                 Error);
    EXPECT_FLOAT_EQ((AdapterOptions{.rank = 16, .alpha = 8, .is_rank_stabilised = true}.scale()), 2.0f);
}

// Every architecture begins near the loss of a uniform guess, and learns; one seed gives one model.
TEST(Trainer, ModelsFromScratchBeginEvenAndLearn) {
    const Batch batch = random_batch(2, 16, 3);
    Runner runner(Device::cpu(), 2);
    for (const char* name : {"gpt2", "llama", "gemma2", "olmoe", "mamba", "mamba2", "qwen3"}) {
        const Spec spec = Model::load(test::family_file(std::string(name) + ":f32"), Device::cpu())->spec();
        TrainableModel model(spec, Device::cpu(), 7), same(spec, Device::cpu(), 7), other(spec, Device::cpu(), 8);
        EXPECT_EQ(read_f32(model.entries()[0].tensors.weight), read_f32(same.entries()[0].tensors.weight)) << name;
        EXPECT_NE(read_f32(model.entries()[0].tensors.weight), read_f32(other.entries()[0].tensors.weight)) << name;
        Trainer trainer(model, runner, {.shape = {.rows = 2, .tokens = 16}, .clip = 1.0f});
        EXPECT_NEAR(trainer.step({&batch, 1}, 1e-3).loss, std::log(512.0), 0.6) << name;
        for (int i = 0; i < 60; ++i) trainer.step({&batch, 1}, 3e-3);
        EXPECT_LT(trainer.evaluate({&batch, 1}).loss, 3.0) << name;
    }
}

// transformers#11323, torchtitan#1720: a training that goes on from a saved state ends with the same bits.
TEST(Trainer, ASavedStateGoesOnToTheSameBits) {
    const TempFolder folder;
    Runner runner(Device::cpu(), 2);
    for (auto kind : {OptimizerOptions::Kind::adamw, OptimizerOptions::Kind::sgd, OptimizerOptions::Kind::muon}) {
        TrainerOptions options{.shape = {.rows = 1, .tokens = 16}, .clip = 1.0f};
        options.optimizer.kind = kind;
        const auto train = [&](Trainer& trainer, int first, int last) {
            for (int i = first; i < last; ++i) {
                const Batch batch = random_batch(1, 16, static_cast<uint64_t>(i));
                trainer.step({&batch, 1}, 1e-3);
            }
        };
        TrainableModel whole = load("llama:f32"), halves = load("llama:f32"), later = load("llama:f32");
        Trainer a(whole, runner, options), b(halves, runner, options), c(later, runner, options);
        train(a, 0, 6);
        train(b, 0, 3);
        save_training_state(folder / "half.gguf", halves, b.optimizer());
        load_training_state(folder / "half.gguf", later, c.optimizer());
        train(c, 3, 6);
        EXPECT_EQ(c.optimizer().steps(), 6);
        save_training_state(folder / "a.gguf", whole, a.optimizer());
        save_training_state(folder / "c.gguf", later, c.optimizer());
        EXPECT_EQ(test::fnv1a(folder / "a.gguf"), test::fnv1a(folder / "c.gguf"));
    }
    TrainableModel other = load("gpt2:f32");
    Trainer trainer(other, runner, {.shape = {.rows = 1, .tokens = 16}});
    EXPECT_THROW(load_training_state(folder / "half.gguf", other, trainer.optimizer()), Error);
    EXPECT_THROW(load_training_state(test::family_file("llama:f32"), other, trainer.optimizer()), Error);
    EXPECT_THROW(load_training_state(folder / "absent.gguf", other, trainer.optimizer()), Error);
}

// ainode#186: a loss that is no number ends the run and says where it began.
TEST(Trainer, ANumberThatIsNoneIsNamed) {
    const Batch batch = random_batch(1, 16, 3);
    Runner runner(Device::cpu(), 2);
    TrainableModel model = load("llama:f32");
    Trainer trainer(model, runner, {.shape = {.rows = 1, .tokens = 16}});
    for (const TrainableModel::Entry& entry : model.entries()) {
        if (entry.name == "blk.1.ffn_up.weight")
            write_f32(entry.tensors.weight, std::vector<float>(256, std::numeric_limits<float>::quiet_NaN()), 7);
    }
    try {
        trainer.step({&batch, 1}, 1e-3);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(
            std::string(error.what()),
            "step 1: the loss is nan; the first result that is no finite number is blk.1.ffn_up in blk.1/feed_forward");
    }
}

TEST(Trainer, ABatchWithoutTargetsOrWithWrongOnesIsRefused) {
    Runner runner(Device::cpu(), 1);
    TrainableModel model = load("llama:f32");
    Trainer trainer(model, runner, {.shape = {.rows = 1, .tokens = 8}});
    Batch batch = random_batch(1, 8, 1);
    batch.targets.assign(8, -1);
    EXPECT_THROW(trainer.step({&batch, 1}, 1e-3), Error);
    batch.targets[3] = 512;
    EXPECT_THROW(trainer.step({&batch, 1}, 1e-3), Error);
    batch.targets[3] = 5;
    batch.ids[2] = 512;
    EXPECT_THROW(trainer.step({&batch, 1}, 1e-3), Error);
    batch.ids.pop_back();
    EXPECT_THROW(trainer.step({&batch, 1}, 1e-3), Error);
}

}  // namespace
}  // namespace toy
