#pragma once

#include <cstdint>

namespace highwater {

/// Ids of definitions (op names and texts, modules, call sites, threads). 0 is "none", and each
/// kind is capped: what is new past the cap gets kOtherId.
using NameId = std::uint32_t;
using ModuleId = std::uint32_t;
using CallSiteId = std::uint32_t;
using ThreadId = std::uint16_t;

inline constexpr std::uint32_t kNoId = 0;
inline constexpr std::uint32_t kOtherId = 1;

/// The largest number of definitions of one kind in one run.
inline constexpr std::uint32_t kMaxNames = 65'536;
inline constexpr std::uint32_t kMaxModules = 16'384;
inline constexpr std::uint32_t kMaxCallSites = 65'536;
inline constexpr std::uint32_t kMaxThreads = 1'024;

}  // namespace highwater
