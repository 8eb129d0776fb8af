#include "tensor/repack.h"

#include "tensor/computation.h"

namespace toy::test {
namespace {

struct Product {
    std::vector<float> values;
    size_t repacked;  // weights that got a second copy
};

// x·wᵀ for a weight of that type, through its repacked copy or not. Repacking never changes the weight itself.
Product product(DType type, int64_t rows, int64_t columns, int64_t tokens, bool repack, int threads) {
    Params params(Device::cpu());
    const Tensor w = params.add("w", packed(type, {rows, columns}));
    params.allocate();
    write_f32(w, random_values(rows * columns, 1));
    std::vector<std::byte> before(w.layout().bytes()), after(before.size());
    read(w, before);
    RepackedWeights twins(Device::cpu());
    if (repack) twins.add({w}, threads);
    Graph g;
    const Tensor x = g.input("x", DType::F32, {tokens, columns});
    const Tensor y = matmul(w, x), same = get_rows(w, g.input("ids", DType::I32, {1}));
    g.output(y);
    g.output(same);
    g.allocate(Device::cpu(), &twins);
    write(x, std::span<const float>(random_values(tokens * columns, 2)));
    Runner(Device::cpu(), threads).run(g);
    read(w, after);
    EXPECT_EQ(after, before) << name(type);
    EXPECT_EQ(read_f32(same), read_rows_f32(w, 0, 1)) << name(type);
    EXPECT_EQ(twins.bytes() > 0, twins.count() > 0);
    return {read_f32(y), twins.count()};
}

bool is_quantisable(DType type) {
    const std::string_view kind = name(type).substr(0, 3);
    return is_quantized(type) && type != DType::Q8_1 && type != DType::Q8_K && kind != "iq1" && kind != "iq2" &&
           kind != "iq3";
}

// The kernels for either layout round activations to blocks of int8 and sum in another order.
TEST(Repack, GivesTheSameProductsForEveryTypeThatHasALayout) {
    [[maybe_unused]] int repacked_types = 0;  // looked at where there are layouts
    for (DType type : all_dtypes()) {
        if (!is_quantisable(type)) continue;
        bool is_repacked = false;
        for (const int64_t tokens : {1, 3, 4, 17}) {
            for (int threads : {1, 2, 3}) {
                const Product plain = product(type, 64, 512, tokens, false, threads);
                const Product twin = product(type, 64, 512, tokens, true, threads);
                is_repacked = twin.repacked > 0;
                const std::vector<double> expected(plain.values.begin(), plain.values.end());
                EXPECT_LT(relative_error(twin.values, expected), 8e-3) << name(type) << ", " << tokens << " tokens";
            }
        }
        repacked_types += is_repacked ? 1 : 0;
        RecordProperty(std::string(name(type)), is_repacked ? "repacked" : "no layout");
    }
#ifdef __AVX2__
    EXPECT_GE(repacked_types, 4);
#endif
}

// Stacks of experts have such layouts too, and each token's experts are found in them.
TEST(Repack, GivesTheSameProductsForStacksOfExperts) {
    constexpr int64_t k_experts = 5, k_rows = 64, k_columns = 512, k_tokens = 7, k_used = 2;
    for (DType type : {DType::Q4_0, DType::Q4_K, DType::IQ4_NL, DType::Q2_K}) {
        Params params(Device::cpu());
        const Tensor w = params.add("w", packed(type, {k_experts, k_rows, k_columns}));
        params.allocate();
        write_f32(w, random_values(k_experts * k_rows * k_columns, 1));
        RepackedWeights none(Device::cpu()), twins(Device::cpu());
        twins.add({w}, 2);
#ifdef __AVX2__
        EXPECT_EQ(twins.count(), 1u) << name(type);
#endif
        std::vector<std::vector<float>> results;
        for (const RepackedWeights* which : {&none, &twins}) {
            Graph g;
            const Tensor x = g.input("x", DType::F32, {k_tokens, 1, k_columns});
            const Tensor ids = g.input("ids", DType::I32, {k_tokens, k_used});
            const Tensor y = matmul_id(w, x, ids);
            g.output(y);
            g.allocate(Device::cpu(), which);
            write(x, std::span<const float>(random_values(k_tokens * k_columns, 2)));
            write(ids, std::vector<int32_t>{0, 4, 1, 2, 3, 0, 2, 4, 4, 1, 0, 3, 1, 3});
            Runner(Device::cpu(), 2).run(g);
            results.push_back(read_f32(y));
        }
        const std::vector<double> expected(results[0].begin(), results[0].end());
        EXPECT_LT(relative_error(results[1], expected), 8e-3) << name(type);
    }
}

// Layouts interleave 4, 8 or 16 rows: a count of rows that is no multiple keeps the original layout.
TEST(Repack, RaggedRowCountsFallBack) {
    for (DType type : {DType::Q4_0, DType::Q4_K, DType::IQ4_NL}) {
        for (const int64_t rows : {1, 3, 7, 63, 65}) {
            const Product plain = product(type, rows, 256, 2, false, 2);
            const Product twin = product(type, rows, 256, 2, true, 2);
            EXPECT_EQ(twin.repacked, 0u) << name(type) << ", " << rows << " rows";
            EXPECT_EQ(twin.values, plain.values);
        }
    }
}

TEST(Repack, TypesWithoutALayoutAreLeftAlone) {
    Params params(Device::cpu());
    const std::vector<Tensor> weights = {params.add("f32", packed(DType::F32, {64, 256})),
                                         params.add("vector", packed(DType::F32, {256}))};
    params.allocate();
    RepackedWeights twins(Device::cpu());
    twins.add(weights, 2);
    EXPECT_EQ(twins.count(), 0u);
    EXPECT_EQ(twins.bytes(), 0u);
}

TEST(Repack, AWeightIsRepackedOnce) {
    Params params(Device::cpu());
    const Tensor w = params.add("w", packed(DType::Q4_0, {64, 256}));
    params.allocate();
    RepackedWeights twins(Device::cpu());
    twins.add({w, w}, 2);  // the same one twice in one call, too
    const size_t count = twins.count(), bytes = twins.bytes();
    EXPECT_LE(count, 1u);
    twins.add({w}, 1);
    EXPECT_EQ(twins.count(), count);
    EXPECT_EQ(twins.bytes(), bytes);
}

}  // namespace
}  // namespace toy::test
