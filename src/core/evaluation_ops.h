#pragma once

#include <cstdint>

namespace highwater {

/// Of an evaluation the work of only so many ops is counted (events::OpWork): a few batches are
/// like the others, and counting takes a few microseconds an op.
inline constexpr std::int32_t kMostEvaluationOps = 5000;

}  // namespace highwater
