#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace toy {

/// An importance matrix: for a weight [n, D] the mean squares of the D inputs that it is multiplied with, over some
/// text. A quantiser rounds the columns of large inputs with more care.
struct ImportanceMatrix {
    std::string origin;  ///< the file
    /// By the weight's name: D values, or E·D for a stack of E experts, each from 0 to k_largest_importance.
    std::map<std::string, std::vector<float>, std::less<>> weights;
    std::vector<std::string> datasets;  ///< what it was computed on, as the file says
    int64_t chunks = 0;                 ///< pieces of text that it was computed on; 0: the file does not say
};

/// Reads llama.cpp's two formats: GGUF (general.type "imatrix"; a tensor NAME.in_sum2 of sums and one NAME.counts of
/// how often each expert was used, for every weight; an expert that was never used counts all inputs alike), and the
/// older one without a magic number (llama.cpp's legacy_imatrix: sums over calls). Throws Error{bad_input} that names
/// the tensor or the byte offset.
ImportanceMatrix read_imatrix(const std::filesystem::path& path);

/// Sums of the squares of a weight's inputs, as they are collected.
struct ImportanceSums {
    std::vector<double> sums;     ///< E·D
    std::vector<int64_t> counts;  ///< of the inputs in the sums of each expert, or one for all
};

/// Writes sums in the GGUF format, by the names of the weights. `chunks` pieces of `chunk_size` tokens of `dataset`
/// were computed. The same arguments give the same bytes.
void write_imatrix(const std::filesystem::path& path, const std::map<std::string, ImportanceSums, std::less<>>& weights,
                   const std::string& dataset, int64_t chunks, int64_t chunk_size);

}  // namespace toy
