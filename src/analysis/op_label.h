#pragma once

#include <string>
#include <string_view>

#include "core/events_generated.h"

namespace highwater::analysis {

/// An op's name without "aten::".
[[nodiscard]] std::string_view shortOp(std::string_view op);

/// The name of an op for people, together with what made it wait where the name alone does not
/// tell: "aten::copy_ to device", "aten::copy_ to host". Ops that do not wait, fallbacks among
/// them, have kind None and keep their name.
[[nodiscard]] std::string opLabel(std::string_view op, events::SyncKind kind);

}  // namespace highwater::analysis
