#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"

namespace highwater::probe {

/// The names (of ops, phases, shapes) and the threads of a run. Gives each an id and keeps new
/// definitions until the sender takes them, which it does before it sends an event that uses them.
/// Equal texts get one id, since PyTorch's name pointers differ between calls.
class NameTable {
 public:
  /// The id of a name and the table's own copy of its text.
  struct Interned {
    NameId id = kNoId;
    std::string_view text = "";  ///< lives as long as the table; empty for kOtherId
  };

  /// Returns the id of `text`, cut to kMaxTextBytes, with a new id where it is new. Returns
  /// kOtherId for a new text once there are kMaxNames, or as many bytes of names as a stream may
  /// have. Any thread; locks.
  [[nodiscard]] Interned intern(std::string_view text);
  /// Returns the id of a text of which a run may have any number, such as shapes. Works like
  /// intern(), but never uses the last quarter of the ids, which names of ops may still need:
  /// kOtherId for a new text beyond that. Any thread; locks.
  [[nodiscard]] NameId internBulk(std::string_view text);
  /// The same for the name of spans that begin at `callSite`: another id for each.
  [[nodiscard]] NameId internAt(std::string_view text, CallSiteId callSite);
  /// Adds a thread and returns its new id; 0 (no thread) once kMaxThreads is reached. Any thread;
  /// locks.
  [[nodiscard]] ThreadId addThread(std::string name);

  /// Moves the definitions that are new since the last call to the end of `out`: all threads, and
  /// up to `maxBytes` of names, but at least one. Returns true where some names are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());

 private:
  static constexpr NameId kMaxBulkNames = kMaxNames / 4 * 3;

  [[nodiscard]] Interned internBelow(std::string_view text, NameId cap);
  /// Takes an id below `cap` for a new text, and notes its definition.
  [[nodiscard]] Interned add(std::string_view text, CallSiteId callSite, NameId cap);

  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  std::map<std::pair<std::string, CallSiteId>, NameId> idsAt_;
  NameId nextName_ = kOtherId + 1;
  std::size_t textBytes_ = 0;  // of all names
  ThreadId nextThread_ = 1;
  std::deque<NameDefinition> newNames_;
  std::vector<ThreadDefinition> newThreads_;
};

/// Per-thread cache of names: finding a known name costs neither a lock nor an allocation. Each
/// name carries a tag that `classify` computes once.
class NameCache {
 public:
  /// Computes the tag of a name, a number that only the owner of the cache interprets.
  using Classify = std::uint8_t (*)(std::string_view text);
  /// A cached name: its text, its id and its tag.
  struct Entry {
    std::string_view text = "";
    NameId id = kNoId;
    std::uint8_t tag = 0;
  };

  /// Makes an empty cache in front of `table`, which must outlive it. Calls `classify` once for
  /// each name.
  NameCache(NameTable& table, Classify classify);

  /// Returns the entry of `text`, with a new entry where it is new. The reference stays valid for
  /// the life of the cache, unless isTransient().
  [[nodiscard]] Entry& find(std::string_view text);
  /// Returns the entry of the text at the address `text`, without comparing it where the address is
  /// known. `isPermanent()` says whether the text stays at that address, as an operator's name in
  /// PyTorch's dispatcher does. It is asked once; from then on the address identifies the text. The
  /// address of any other text is only a hint, and its content decides. The reference stays valid
  /// for the life of the cache, unless isTransient().
  template <typename F>
  [[nodiscard]] Entry& find(const char* text, F&& isPermanent) {
    Recent& recent = recent_[recentIndex(text)];
    if (recent.permanent == text) return *recent.entry;
    // strncmp stops at the end of `text`, even if `known` is longer.
    const std::string_view known = recent.entry->text;
    if (std::strncmp(known.data(), text, known.size()) != 0 || text[known.size()] != '\0') {
      recent.entry = &find(std::string_view(text));
    }
    recent.permanent = !isTransient(*recent.entry) && isPermanent() ? text : nullptr;
    return *recent.entry;
  }

  /// Returns the entry of a permanent text that find() saw at this address and that is still
  /// cached; else nullptr.
  [[nodiscard]] Entry* findByAddress(const char* text) const {
    const Recent& recent = recent_[recentIndex(text)];
    return recent.permanent == text ? recent.entry : nullptr;
  }

  /// Forgets all addresses, since permanent texts may have been freed. Entries stay.
  void forgetAddresses() {
    std::fill(recent_.begin(), recent_.end(), Recent{nullptr, &transient_});
  }

  /// Returns true for the entry that find() returns while the cache is full: the next call may
  /// overwrite it.
  [[nodiscard]] bool isTransient(const Entry& entry) const { return &entry == &transient_; }

 private:
  static constexpr std::size_t kRecent = 1024;  // a power of two
  static constexpr std::size_t kSlots = 2048;   // a power of two
  static constexpr std::size_t kMaxUsed = kSlots / 4 * 3;

  static std::size_t recentIndex(const char* text) {
    const auto address = reinterpret_cast<std::uintptr_t>(text);
    return (address >> 4 ^ address >> 14) % kRecent;
  }

  struct Recent {
    const char* permanent = nullptr;
    Entry* entry = nullptr;
  };

  // First member, because every op reads it.
  std::vector<Recent> recent_ = std::vector<Recent>(kRecent, Recent{nullptr, &transient_});
  NameTable& table_;
  Classify classify_;
  std::size_t used_ = 0;
  Entry transient_;
  std::vector<Entry> slots_ = std::vector<Entry>(kSlots);
};

}  // namespace highwater::probe
