#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"

namespace highwater::probe {

/// The run's definitions: texts become ids by their content (PyTorch's name pointers differ between
/// calls), and the sender takes what is new before it sends an event that uses it.
class NameTable {
 public:
  struct Interned {
    NameId id = kNoId;
    std::string_view text;  ///< lives as long as the table
  };

  /// The id of `text`, cut to kMaxTextBytes; kOtherId once kMaxNames is reached. Any thread.
  [[nodiscard]] Interned intern(std::string_view text);
  /// The same for texts that a run may have any number of, as shapes: they never take the last
  /// quarter of the ids, which names of ops may need yet.
  [[nodiscard]] NameId internBulk(std::string_view text);
  /// A new thread's id; 0 ("none") once kMaxThreads is reached. Any thread.
  [[nodiscard]] ThreadId addThread(std::string name);

  /// Moves what was defined since the last call to the end of `out`; of names no more than
  /// `maxBytes` of text, but at least one. True where some are left for the next call.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());

 private:
  static constexpr NameId kMaxBulkNames = kMaxNames / 4 * 3;

  [[nodiscard]] Interned internBelow(std::string_view text, NameId cap);

  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  NameId nextName_ = kOtherId + 1;
  ThreadId nextThread_ = 1;
  std::deque<NameDefinition> newNames_;
  std::vector<ThreadDefinition> newThreads_;
};

/// One thread's way to the ids of names that it saw before, without a lock or an allocation. Each
/// name carries a tag that its owner computes once.
class NameCache {
 public:
  using Classify = std::uint8_t (*)(std::string_view text);
  struct Entry {
    std::string_view text;
    NameId id = kNoId;
    std::uint8_t tag = 0;
  };

  NameCache(NameTable& table, Classify classify) : table_(table), classify_(classify) {}

  [[nodiscard]] Entry find(std::string_view text);
  /// The same. The text's address is only where to look first: its content decides.
  [[nodiscard]] Entry find(const char* text);

 private:
  static constexpr std::size_t kRecent = 1024;  // a power of two
  static constexpr std::size_t kSlots = 2048;   // a power of two
  static constexpr std::size_t kMaxUsed = kSlots / 4 * 3;

  NameTable& table_;
  Classify classify_;
  std::size_t used_ = 0;
  std::vector<Entry> recent_ = std::vector<Entry>(kRecent);
  std::vector<Entry> slots_ = std::vector<Entry>(kSlots);
};

}  // namespace highwater::probe
