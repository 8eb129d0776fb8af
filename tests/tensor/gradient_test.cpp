// Every operator's gradient against PyTorch in float64 (tests/oracle/gradients_torch.py) and against finite
// differences, from the plain lowering and from the kernels, on several threads.
#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>
#include <set>

#include "support/base64.h"
#include "tensor/backward.h"
#include "tensor/computation.h"
#include "tensor/gradient_cases.h"

namespace toy::test {
namespace {

const nlohmann::json& recorded_cases() {
    static const nlohmann::json cases = [] {
        std::ifstream file(TOY_SOURCE_DIR "/tests/fixtures/gradients/operators.json");
        return nlohmann::json::parse(file);
    }();
    return cases;
}

std::vector<double> doubles(const nlohmann::json& base64) {
    const std::vector<float> values = floats_from_base64(base64.get<std::string>());
    return {values.begin(), values.end()};
}

/// One case as a graph: its inputs, result, the gradient of the result, and gradients of the inputs.
class Case {
 public:
    Case(const nlohmann::json& recorded, bool has_kernels) : recorded_(recorded) {
        for (const auto& input : recorded["inputs"]) {
            Layout layout = packed(input.contains("values") ? DType::F32 : DType::I32, {1});
            const auto shape = input["shape"].get<std::vector<int64_t>>();
            std::array<int64_t, 4> ne{1, 1, 1, 1};
            std::copy(shape.rbegin(), shape.rend(), ne.begin());
            layout = packed_ne(layout.type, static_cast<int>(shape.size()), ne);
            inputs.push_back(graph.input("in" + std::to_string(inputs.size()), layout));
        }
        y = gradient_cases().at(recorded["name"])(inputs);
        seed = graph.input("dy", packed_like(y.layout(), DType::F32));
        Backward backward(graph);
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (is_smooth(i)) backward.want(inputs[i]);
        }
        backward.seed(y, seed);
        backward.run();
        for (size_t i = 0; i < inputs.size(); ++i) {
            gradients.push_back(is_smooth(i) ? contiguous(backward.gradient(inputs[i])) : Tensor());
            if (gradients.back()) graph.output(gradients.back());
        }
        graph.output(y);
        graph.set_kernels(has_kernels);
        graph.allocate(Device::cpu());
    }
    bool is_smooth(size_t i) const { return recorded_["inputs"][i].contains("gradient"); }
    std::vector<float> values(size_t i) const {
        return floats_from_base64(recorded_["inputs"][i]["values"].get<std::string>());
    }
    void run(int threads) {
        for (size_t i = 0; i < inputs.size(); ++i) {
            const auto& input = recorded_["inputs"][i];
            if (input.contains("values")) {
                write(inputs[i], values(i));
            } else {
                write(inputs[i], input["integers"].get<std::vector<int32_t>>());
            }
        }
        if (const Tensor ids = graph.find("ids")) {
            std::vector<int32_t> numbers(static_cast<size_t>(ids.layout().elements()));
            std::iota(numbers.begin(), numbers.end(), 0);
            write(ids, numbers);
        }
        write(seed, floats_from_base64(recorded_["dy"].get<std::string>()));
        Runner(Device::cpu(), threads).run(graph);
    }

    Graph graph;
    std::vector<Tensor> inputs, gradients;
    Tensor y, seed;

 private:
    const nlohmann::json& recorded_;
};

class Gradients : public testing::TestWithParam<std::string> {
 protected:
    const nlohmann::json& recorded() const {
        for (const auto& c : recorded_cases()) {
            if (c["name"] == GetParam()) return c;
        }
        throw std::runtime_error("no such case");
    }
};

TEST_P(Gradients, AreThoseOfPyTorch) {
    double largest = 0;
    for (bool has_kernels : {false, true}) {
        for (int threads : {1, 3}) {
            Case c(recorded(), has_kernels);
            c.run(threads);
            const double of_result = relative_error(read_f32(c.y), doubles(recorded()["y"]));
            EXPECT_LT(of_result, 2e-6) << "the result";
            for (size_t i = 0; i < c.inputs.size(); ++i) {
                if (!c.is_smooth(i)) continue;
                const double error =
                    relative_error(read_f32(c.gradients[i]), doubles(recorded()["inputs"][i]["gradient"]));
                EXPECT_LT(error, 5e-6) << "input " << i << (has_kernels ? ", kernels" : ", plain");
                largest = std::max(largest, error);
            }
        }
    }
    RecordProperty("largest_relative_error", fmt::format("{:.1e}", largest));
}

// The slope of Σ y·dy along a random direction of each input, from two runs nearby.
TEST_P(Gradients, AreFiniteDifferences) {
    Case c(recorded(), true);
    c.run(1);
    const std::vector<float> dy = read_f32(c.seed);
    const auto total = [&] {
        Runner(Device::cpu(), 1).run(c.graph);
        const std::vector<float> y = read_f32(c.y);
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * dy[i];
        return sum;
    };
    for (size_t i = 0; i < c.inputs.size(); ++i) {
        if (!c.is_smooth(i)) continue;
        c.run(1);
        const std::vector<float> gradient = read_f32(c.gradients[i]), start = c.values(i);
        // Along the gradient itself, lest the slope vanish, and at random.
        std::vector<float> direction = random_values(static_cast<int64_t>(start.size()), 7 + i, 0.3f);
        double norm = 0, slope = 0;
        for (float g : gradient) norm += g * g;
        for (size_t k = 0; k < start.size(); ++k) {
            direction[k] +=
                gradient[k] / static_cast<float>(std::sqrt(norm / static_cast<double>(start.size())) + 1e-9);
            slope += static_cast<double>(gradient[k]) * direction[k];
        }
        constexpr float h = 1e-3f;
        const auto moved = [&](float by) {
            c.run(1);
            std::vector<float> values = start;
            for (size_t k = 0; k < start.size(); ++k) values[k] += by * direction[k];
            write(c.inputs[i], values);
            return total();
        };
        const double measured = (moved(h) - moved(-h)) / (2.0 * h);
        EXPECT_NEAR(measured, slope, 5e-3 * std::max(0.1, std::abs(slope))) << "input " << i;
    }
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& c : recorded_cases()) all.push_back(c["name"]);
    return all;
}
INSTANTIATE_TEST_SUITE_P(Operators, Gradients, testing::ValuesIn(names()), [](const auto& c) { return c.param; });

TEST(GradientCases, AreAllRecorded) {
    const std::vector<std::string> recorded = names();
    EXPECT_EQ(std::set<std::string>(recorded.begin(), recorded.end()).size(), gradient_cases().size());
    for (const auto& [name, function] : gradient_cases()) {
        EXPECT_NE(std::find(recorded.begin(), recorded.end(), name), recorded.end()) << name;
    }
}

}  // namespace
}  // namespace toy::test
