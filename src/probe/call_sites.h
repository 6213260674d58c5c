#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"
#include "probe/recent_ids.h"
#include "probe/symbolizer.h"

namespace highwater::probe {

/// How many bytes of a frame a definition takes.
[[nodiscard]] std::size_t frameBytesOf(const CallSiteDefinition& site);

/// The places in the user's program that made the host wait: of a stack, the innermost frames that
/// are not PyTorch's. A place becomes an id where it is seen; what it is called is looked up later,
/// by CallSiteNamer, since that takes milliseconds, and the first time hundreds of them.
class CallSites {
 public:
  using LookUp = std::function<std::vector<SourcePlace>(const void* returnAddress)>;

  /// By the process's own symbol and line tables.
  CallSites();

  /// Frames in libraries whose file name begins so are not the user's either. Before anything runs.
  void ignoreLibrary(std::string prefix);
  /// Looks places up otherwise. Before anything runs.
  void lookUpWith(LookUp lookUp) { lookUp_ = std::move(lookUp); }

  /// The id of the stack whose return addresses, innermost first, are `stack`: the user's frames
  /// are those further out than PyTorch's innermost ones, or than the frame that returns to `from`.
  /// kNoId where there are none, as on the threads of backward. Any thread; locks.
  [[nodiscard]] CallSiteId intern(std::span<const void* const> stack, const void* from);
  /// The same of the calling thread's stack.
  [[nodiscard]] CallSiteId here(const void* from);

  /// Whether there is something for takeNew(). Any thread.
  [[nodiscard]] bool hasNew();
  /// Names what was interned since the last call and moves it to the end of `out`: the innermost
  /// kKept frames each, as nodes from the outermost to the innermost, whose id the events have. No
  /// more than some places over `maxBytes` of a frame, but at least one; true where some are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());
  /// The same without looking anything up: they are unknown places.
  void takeNewUnnamed(Definitions& out);

  /// Some times a second: forgets what was in libraries that are gone, as another may be there now.
  void noticeUnloads();
  /// Another number once ids of stacks were forgotten. Any thread.
  [[nodiscard]] std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  static constexpr std::size_t kKept = 3;

 private:
  // Of a stack so many frames are looked at: some are PyTorch's, inlined into the user's program.
  static constexpr std::size_t kLookedAt = 8;

  struct Pending {
    CallSiteId id = kNoId;
    std::vector<const void*> frames;
  };
  enum class Owner : std::uint8_t { kUser, kTorch, kSystem };
  struct Library {
    std::string file;
    Owner owner = Owner::kSystem;
  };

  [[nodiscard]] Owner ownerOf(const void* address);
  [[nodiscard]] bool areInKnownLibraries(const std::vector<const void*>& frames) const;
  [[nodiscard]] std::vector<const void*> usersFrames(std::span<const void* const> stack,
                                                     const void* from);
  [[nodiscard]] std::optional<Pending> nextPending();
  [[nodiscard]] std::vector<SourcePlace> placesOf(const Pending& pending) const;
  void define(Definitions& out, const Pending& pending);
  [[nodiscard]] CallSiteId outerNode(Definitions& out, CallSiteId parent, const SourcePlace& place);

  LookUp lookUp_;
  std::mutex mutex_;
  std::vector<std::string> ignored_;
  std::unordered_map<const void*, Library> libraries_;  // by the base address
  std::map<std::vector<const void*>, CallSiteId> ids_;
  std::deque<Pending> pending_;
  CallSiteId next_ = kOtherId + 1;
  std::uint64_t unloaded_;
  std::atomic<std::uint64_t> generation_{0};

  // Of whoever takes what is new.
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
  CallSites& sites_;
  std::uint64_t generation_ = 0;
  RecentIds<64, 4> ids_;
};

}  // namespace highwater::probe
