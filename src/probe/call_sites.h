#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"
#include "probe/symbolizer.h"

namespace highwater::probe {

/// The places in the user's program that made the host wait: of a stack, the innermost frames that
/// are not PyTorch's. A place becomes an id where it is seen; what it is called is looked up later,
/// by the sender, since that takes milliseconds.
class CallSites {
 public:
  CallSites();

  /// Frames in libraries whose file name begins so are not the user's either. Before anything runs.
  void ignoreLibrary(std::string prefix);

  /// The id of the stack whose return addresses, innermost first, are `stack`: the user's frames
  /// are those further out than PyTorch's innermost ones, or than the frame that returns to `from`.
  /// kNoId where there are none, as on the threads of backward. Any thread; locks.
  [[nodiscard]] CallSiteId intern(const std::vector<const void*>& stack, const void* from);

  /// Names what was interned since the last call and moves it to the end of `out`: the innermost
  /// kKept frames each, as nodes from the outermost to the innermost, whose id the events have. No
  /// more than some places over `maxBytes` of a frame, but at least one; true where some are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());

  static constexpr std::size_t kKept = 3;

 private:
  // Of a stack so many frames are looked at: some are PyTorch's, inlined into the user's program.
  static constexpr std::size_t kLookedAt = 8;

  struct Pending {
    CallSiteId id = kNoId;
    std::vector<const void*> frames;
  };
  enum class Owner : std::uint8_t { kUser, kTorch, kSystem };

  [[nodiscard]] Owner ownerOf(const void* address);
  [[nodiscard]] std::vector<const void*> usersFrames(const std::vector<const void*>& stack,
                                                     const void* from);
  [[nodiscard]] std::optional<Pending> nextPending();
  void define(Definitions& out, const Pending& pending);
  [[nodiscard]] CallSiteId outerNode(Definitions& out, CallSiteId parent, const SourcePlace& place);

  std::mutex mutex_;
  std::vector<std::string> ignored_;
  std::unordered_map<const void*, Owner> owners_;  // by the object's base address
  std::map<std::vector<const void*>, CallSiteId> ids_;
  std::deque<Pending> pending_;
  CallSiteId next_ = kOtherId + 1;

  // The sender's alone.
  std::map<std::tuple<CallSiteId, std::string, std::string, std::uint32_t>, CallSiteId> nodes_;
};

/// One thread's way to call sites, without a lock or an allocation where it saw the same stack
/// before.
class CallSiteCache {
 public:
  explicit CallSiteCache(CallSites& sites) : sites_(sites) {}

  /// Where the calling thread is. `from`: the frame that returns there and those inside of it are
  /// not the user's; without it, those up to PyTorch's innermost.
  [[nodiscard]] CallSiteId here(const void* from = nullptr);

  /// The first unwinding of a process loads a library: do that before ops run.
  static void warmUp();

 private:
  static constexpr std::size_t kMaxFrames = 64;
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kWays = 4;

  struct Entry {
    std::uint64_t hash = 0;  // of the whole stack; 0: none
    CallSiteId id = kNoId;
  };
  struct Set {
    std::array<Entry, kWays> entries{};
    std::size_t next = 0;
  };

  CallSites& sites_;
  std::array<Set, kSets> sets_{};
};

}  // namespace highwater::probe
