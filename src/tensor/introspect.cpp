#include "tensor/introspect.h"

#include <fmt/format.h>
#include <ggml.h>

#include "tensor/params.h"

namespace toy {
namespace {

std::string place(const std::source_location& where) {
    if (where.line() == 0) return "";  // a use without a place, as through the C interface
    const std::string_view path = where.file_name();
    const size_t slash = path.rfind('/');
    return fmt::format("{}:{}", slash == std::string_view::npos ? path : path.substr(slash + 1), where.line());
}

std::string operands(const NodeInfo& node) {
    std::string text;
    for (int32_t source : node.sources) {
        if (!text.empty()) text += ", ";
        text += source < 0 ? "absent" : fmt::format("%{}", source);
    }
    return text;
}

std::string line_of(const NodeInfo& node) {
    std::string text = fmt::format("%{} = ", node.number);
    switch (node.kind) {
        case Node::Kind::input: text += "input"; break;
        case Node::Kind::parameter: text += "parameter"; break;
        case Node::Kind::operation: text += fmt::format("{}({})", node.op, operands(node)); break;
    }
    text += ' ' + node.layout.describe();
    if (!node.name.empty()) text += fmt::format(" '{}'", node.name);
    if (!node.scope.empty()) text += " in " + node.scope;
    if (!node.where.empty()) text += ", " + node.where;
    if (node.base >= 0) text += fmt::format(", memory of %{}", node.base);
    if (node.is_output) text += ", output";
    return text + '\n';
}

}  // namespace

std::vector<NodeInfo> describe(const Graph& graph) {
    std::vector<NodeInfo> infos;
    for (const Node& node : graph.nodes()) {
        const bool is_operation = node.kind == Node::Kind::operation;
        infos.push_back(
            {static_cast<int32_t>(infos.size()), node.kind, is_operation ? std::string(node.op->name()) : "",
             is_operation && node.lowered != nullptr ? ggml_op_desc(node.lowered) : "", node.name, node.layout,
             node.sources, node.base, node.is_output, node.scope, is_operation ? place(node.where) : ""});
    }
    return infos;
}

std::string to_text(const Graph& graph) {
    std::string text;
    for (const NodeInfo& node : describe(graph)) text += line_of(node);
    return text;
}

}  // namespace toy
