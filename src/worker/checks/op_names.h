#pragma once

#include <string>

#include "core/result.h"

namespace highwater::worker {

/// Checks that this libtorch has an op `name` ("aten::add", without overload). Returns kUsage, with
/// spelling suggestions, where it has none.
[[nodiscard]] Result<void> checkOpName(const std::string& name);

}  // namespace highwater::worker
