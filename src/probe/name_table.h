#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
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
    std::string_view text = "";  ///< lives as long as the table; empty where it is not kept
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
    std::string_view text = "";
    NameId id = kNoId;
    std::uint8_t tag = 0;
    bool marked = false;  ///< the owner's own mark
  };

  NameCache(NameTable& table, Classify classify);

  /// The entry of `text`. It stays where it is as long as the cache lives, but for isPassing().
  [[nodiscard]] Entry& find(std::string_view text);
  /// The same of a text at an address. `lasting()` says whether that text stays where it is, as an
  /// operator's name in PyTorch's dispatcher does; it is asked once, and the address is then
  /// enough. Another text's address is only where to look first: its content decides.
  template <typename F>
  [[nodiscard]] Entry& find(const char* text, F&& lasting) {
    Recent& recent = recent_[recentIndex(text)];
    if (recent.lasting == text) return *recent.entry;
    // strncmp ends at the end of `text`, however much shorter that is.
    const std::string_view known = recent.entry->text;
    if (std::strncmp(known.data(), text, known.size()) != 0 || text[known.size()] != '\0') {
      recent.entry = &find(std::string_view(text));
    }
    recent.lasting = !isPassing(*recent.entry) && lasting() ? text : nullptr;
    return *recent.entry;
  }

  /// The entry of a lasting text that was found at its address before, otherwise nullptr.
  [[nodiscard]] Entry* findLasting(const char* text) const {
    const Recent& recent = recent_[recentIndex(text)];
    return recent.lasting == text ? recent.entry : nullptr;
  }

  /// Texts that lasted may be gone: their addresses say nothing any more. Entries stay.
  void forgetAddresses() { std::fill(recent_.begin(), recent_.end(), Recent{nullptr, &passing_}); }

  /// True of an entry that the next call may overwrite: a name that found the cache full.
  [[nodiscard]] bool isPassing(const Entry& entry) const { return &entry == &passing_; }

 private:
  static constexpr std::size_t kRecent = 1024;  // a power of two
  static constexpr std::size_t kSlots = 2048;   // a power of two
  static constexpr std::size_t kMaxUsed = kSlots / 4 * 3;

  static std::size_t recentIndex(const char* text) {
    const auto address = reinterpret_cast<std::uintptr_t>(text);
    return (address >> 4 ^ address >> 14) % kRecent;
  }

  struct Recent {
    const char* lasting = nullptr;
    Entry* entry = nullptr;
  };

  // First: each op looks here.
  std::vector<Recent> recent_ = std::vector<Recent>(kRecent, Recent{nullptr, &passing_});
  NameTable& table_;
  Classify classify_;
  std::size_t used_ = 0;
  Entry passing_;
  std::vector<Entry> slots_ = std::vector<Entry>(kSlots);
};

}  // namespace highwater::probe
