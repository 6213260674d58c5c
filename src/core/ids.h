#pragma once

#include <cstdint>

namespace highwater {

/// Events refer to texts by ids; a definition, sent before, says what an id stands for. Each kind
/// of id has a maximum number. Definitions beyond it share kOtherId; threads beyond it get kNoId.

/// Stands for a text: the name of an op, a note, the shapes of an op's arguments.
using NameId = std::uint32_t;
/// Stands for a module of the model.
using ModuleId = std::uint32_t;
/// Stands for a line of source code together with its chain of callers.
using CallSiteId = std::uint32_t;
/// Stands for a thread of the worker.
using ThreadId = std::uint16_t;

/// The id that stands for nothing: the event has no name, module, call site or thread.
inline constexpr std::uint32_t kNoId = 0;
/// The id that stands for all names, modules and call sites beyond the maximum number of their
/// kind.
inline constexpr std::uint32_t kOtherId = 1;

/// Every NameId is below this number.
inline constexpr std::uint32_t kMaxNames = 65'536;
/// Every ModuleId is below this number.
inline constexpr std::uint32_t kMaxModules = 16'384;
/// Every CallSiteId is below this number.
inline constexpr std::uint32_t kMaxCallSites = 65'536;
/// Every ThreadId is below this number.
inline constexpr std::uint32_t kMaxThreads = 1'024;

}  // namespace highwater
