#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace toy::test {

/// A function of some inputs, built from toy's operators. The same functions, by name, are in
/// tests/oracle/gradients_torch.py, which records their gradients.
using GradientCase = std::function<Tensor(const std::vector<Tensor>&)>;
const std::map<std::string, GradientCase>& gradient_cases();

}  // namespace toy::test
