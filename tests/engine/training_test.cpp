// Gradients of whole models and the losses of ten steps of each optimizer against PyTorch in float64
// (tests/oracle/training_torch.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/optimizer.h"
#include "engine/trainable.h"
#include "engine/training_graph.h"
#include "support/family_models.h"
#include "support/oracle.h"
#include "tensor/transfer.h"

namespace toy {
namespace {

using nlohmann::json;

class Training : public testing::TestWithParam<std::string> {
 protected:
    void SetUp() override {
        const std::filesystem::path& path = test::family_file(fixture["model"].get<std::string>());
        ASSERT_EQ(test::fnv1a(path), fixture["model_fnv1a"].get<std::string>())
            << "the recorded model is another one: run scripts/record-oracle.sh";
        model = std::make_unique<TrainableModel>(Model::load(path, Device::cpu()), Device::cpu(),
                                                 [](std::string_view) { return true; });
    }
    Batch batch(size_t step) const {
        Batch b(fixture["rows"], fixture["tokens"]);
        b.ids = fixture["ids"][step].get<std::vector<int32_t>>();
        b.targets = fixture["targets"][step].get<std::vector<int32_t>>();
        return b;
    }
    /// Runs one batch and returns the mean loss.
    double run(TrainingGraph& graph, size_t step, Runner& runner) const {
        const Batch b = batch(step);
        const auto targets = std::count_if(b.targets.begin(), b.targets.end(), [](int32_t t) { return t >= 0; });
        graph.write(b, 1.0f / static_cast<float>(targets));
        runner.run(graph.graph());
        const std::vector<float> losses = graph.losses();
        return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(targets);
    }
    TrainingShape shape() const { return {.rows = fixture["rows"], .tokens = fixture["tokens"]}; }

    const json fixture =
        json::parse(std::ifstream(fmt::format("{}/tests/fixtures/training/{}.json", TOY_SOURCE_DIR, GetParam())));
    std::unique_ptr<TrainableModel> model;
};

TEST_P(Training, GradientsAreThoseOfPyTorch) {
    for (const auto& [is_recomputing, form] :
         {std::pair{false, AttentionForm::plain}, {false, AttentionForm::rows}, {true, AttentionForm::rows}}) {
        TrainingShape how = shape();
        how.is_recomputing = is_recomputing;
        how.form = form;
        TrainingGraph graph(model->decoder(), model->trained(), how, Device::cpu());
        Runner runner(Device::cpu(), 2);
        EXPECT_NEAR(run(graph, 0, runner), fixture["losses"]["adamw"][0].get<double>(), 1e-5);
        double largest = 0;
        for (const TrainableModel::Entry& entry : model->entries()) {
            const json& recorded = fixture["gradients"][entry.name];
            const std::vector<float> gradient = read_f32(entry.tensors.gradient);
            const std::vector<float> sample = test::floats_from_base64(recorded["sample"].get<std::string>());
            const size_t step = std::max<size_t>(1, gradient.size() / 400);
            double errors = 0, squares = 0, total = 0;
            for (float g : gradient) total += static_cast<double>(g) * g;
            for (size_t i = 0; i < sample.size(); ++i) {
                const double difference = static_cast<double>(gradient[i * step]) - sample[i];
                errors += difference * difference;
                squares += static_cast<double>(sample[i]) * sample[i];
            }
            const double error = std::sqrt(errors / squares);
            EXPECT_LT(error, 1e-4) << entry.name;
            const double norm = recorded["norm"].get<double>();
            EXPECT_NEAR(std::sqrt(total), norm, 1e-4 * norm) << entry.name;
            largest = std::max(largest, error);
            clear(entry.tensors.gradient);
        }
        const char* name = is_recomputing ? "recomputed" : form == AttentionForm::plain ? "plain" : "rows";
        RecordProperty(name, fmt::format("{:.1e}", largest));
    }
}

TEST_P(Training, TenStepsGiveTheLossesOfPyTorch) {
    for (const char* name : {"adamw", "sgd", "muon"}) {
        SetUp();  // the weights of the file again
        TrainingGraph graph(model->decoder(), model->trained(), shape(), Device::cpu());
        Runner runner(Device::cpu(), 2);
        OptimizerOptions options;
        options.kind = *optimizer_kind(name);
        options.beta1 = fixture["betas"][0];
        options.beta2 = fixture["betas"][1];
        options.eps = fixture["eps"];
        options.weight_decay = fixture["decay"];
        options.muon_momentum = fixture["momentum"];
        Optimizer optimizer(*model, options, runner);
        const std::vector<double> expected = fixture["losses"][name];
        double largest = 0;
        for (size_t step = 0; step < expected.size(); ++step) {
            const double loss = run(graph, step, runner);
            EXPECT_NEAR(loss, expected[step], 1e-4 * expected[step]) << name << " step " << step;
            largest = std::max(largest, std::abs(loss - expected[step]) / expected[step]);
            optimizer.step(fixture["learning_rate"], 1.0f);
        }
        RecordProperty(name, fmt::format("{:.1e}", largest));
    }
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Training, testing::ValuesIn(test::fixture_names("training")),
                         [](const auto& test) { return test::test_name(test.param); });

}  // namespace
}  // namespace toy
