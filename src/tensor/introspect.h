#pragma once
#include <string>
#include <vector>

#include "tensor/graph.h"

namespace toy {

/// What is to be known of one node of a graph, for people and for programs that show graphs. A graph that is only
/// traced has it all, except for the names of its lowering.
struct NodeInfo {
    int32_t number;  ///< its place on the tape; `sources` are such numbers
    Node::Kind kind;
    std::string op;                ///< of an operation: "rms_norm"; else empty
    std::string lowered_op;        ///< the last ggml operation that it became: "RMS_NORM"; empty before allocation
    std::string name;              ///< given, or the parameter's; may be empty
    Layout layout;                 ///< type, shape and strides
    std::vector<int32_t> sources;  ///< operands in order, -1 where absent
    int32_t base;                  ///< the node whose memory it shares, or -1
    bool is_output;
    std::string scope;  ///< "blk.3/attention"
    std::string where;  ///< of an operation, the line that recorded it: "decoder.cpp:41"
};

/// All nodes in program order.
std::vector<NodeInfo> describe(const Graph& graph);

/// The same as text, a line per node:
/// "%7 = rms_norm(%3) f32 [7, 64] 'h' in blk.3/attention, decoder.cpp:41, output"
std::string to_text(const Graph& graph);

}  // namespace toy
