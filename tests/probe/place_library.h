#pragma once

#include <cstdint>

/// What the libraries place_library_first and place_library_other export, as firstVisit and
/// otherVisit, from the same code at the same places: calls `there(context)` through `depth` more
/// frames and returns what it returns.
using Visit = std::uint32_t (*)(int depth, std::uint32_t (*there)(void*), void* context);
