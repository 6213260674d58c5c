#pragma once

#include <cstdint>

/// The function that the libraries place_library_first and place_library_other export, as
/// firstVisit and otherVisit, with the same code at the same offsets: calls `there(context)`
/// through `depth` more frames and returns its result.
using Visit = std::uint32_t (*)(int depth, std::uint32_t (*there)(void*), void* context);
