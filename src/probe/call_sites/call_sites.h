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
#include "probe/call_sites/source_lines.h"
#include "probe/call_sites/symbolizer.h"
#include "probe/observer/recent_ids.h"

namespace highwater::probe {

/// Returns the size of a call site definition in a protocol frame, in bytes.
[[nodiscard]] std::size_t frameBytesOf(const CallSiteDefinition& site);

/// The call sites of a run: the places in the user's program that made the host wait. A call site
/// is the innermost frames of a stack that are not PyTorch's. A stack gets its id at once; its
/// symbols are looked up later by CallSiteNamer, which takes milliseconds, and the first time
/// hundreds of them.
class CallSites {
 public:
  /// The function that symbolizes one return address: returns the source places of the functions it
  /// lies in, the innermost inlined one first.
  using LookUp = std::function<std::vector<SourcePlace>(const void* returnAddress)>;

  /// Makes an empty set that symbolizes with the symbol and line tables of this process.
  CallSites();

  /// Excludes libraries whose file name begins with `prefix` from the user's frames. Call before
  /// ops run.
  void ignoreLibrary(std::string prefix);
  /// Replaces the symbolizer of the process. Call before ops run.
  void lookUpWith(LookUp lookUp) { lookUp_ = std::move(lookUp); }

  /// What the return address `from` of a stack belongs to.
  enum class From : std::uint8_t {
    kUser,    ///< the user's function, which is the innermost of the user's frames
    kKernel,  ///< a kernel of the probe's: PyTorch's frames, which called it, come before the
              ///< user's
  };

  /// Returns the id of a stack, given as return addresses with the innermost first. Only the user's
  /// frames identify it: those outside of PyTorch's innermost ones or, where `from` is not null,
  /// outside of the frame that returns to the address `from`, as `kind` says. Returns kNoId for a
  /// stack without user's frames, as on the threads of backward, and kOtherId for a new stack once
  /// kMaxCallSites is reached. Any thread; locks.
  [[nodiscard]] CallSiteId intern(std::span<const void* const> stack, const void* from,
                                  From kind = From::kUser);
  /// Returns the id of the calling thread's stack. Where `from` is not null, only the frames
  /// outside of the one that returns to the address `from` count as the user's. Returns kNoId or
  /// kOtherId as intern() does. Any thread; locks.
  [[nodiscard]] CallSiteId here(const void* from);

  /// Returns a new id for a stack whose places are known, innermost first, of which the first kKept
  /// count; their definitions have the text of their lines. kNoId for none; kOtherId once
  /// kMaxCallSites is reached. Any thread; locks.
  [[nodiscard]] CallSiteId internPlaces(std::vector<SourcePlace> places);

  /// A function that returns the call site of the calling thread's interpreted code, by
  /// internPlaces(); kNoId where it runs none.
  using Interpreter = CallSiteId (*)(CallSites& sites) noexcept;
  /// Has `ask` called for the call sites of all threads, in place of unwinding. Call before
  /// ops run.
  void askInterpreter(Interpreter ask) { interpreter_ = ask; }
  [[nodiscard]] Interpreter interpreter() const { return interpreter_; }

  /// Returns true where takeNew() has a call site to define. Any thread.
  [[nodiscard]] bool hasNew();
  /// Has the symbolizer read what takeNew() will ask for, where several addresses together take
  /// less time. May take seconds; ends soon once `isStopped` returns true.
  void prepareNew(const Symbolizer::IsStopped& isStopped);
  /// Symbolizes the stacks that were interned since the last call and appends their definitions to
  /// `out`. A stack becomes a chain of up to kKept nodes from the outermost of its frames to the
  /// innermost; the innermost node has the id that intern() returned. Stops after the place that
  /// reaches `maxBytes` of a frame. Returns true where some stacks are left.
  bool takeNew(Definitions& out, std::size_t maxBytes = std::numeric_limits<std::size_t>::max());
  /// Defines all new stacks as unknown places, without symbolizing them, and appends the
  /// definitions to `out`.
  void takeNewUnnamed(Definitions& out);

  /// Forgets the stacks in libraries that were unloaded, whose addresses another library may use
  /// now. Call it some times a second.
  void noticeUnloads();
  /// A counter that grows each time noticeUnloads() forgets stacks. A cache of ids is stale once it
  /// has changed. Any thread.
  [[nodiscard]] std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  /// The largest number of frames that the definition of a call site keeps.
  static constexpr std::size_t kKept = 3;

 private:
  // Candidates of a stack: some are PyTorch's, inlined into the user's program.
  static constexpr std::size_t kLookedAt = 8;

  struct Pending {
    CallSiteId id = kNoId;
    std::vector<const void*> frames;
    std::vector<SourcePlace> places;  ///< known already, without frames
  };
  enum class Owner : std::uint8_t { kUser, kTorch, kSystem };
  struct Library {
    std::string file;
    Owner owner = Owner::kSystem;
  };

  [[nodiscard]] Owner ownerOf(const void* address);
  [[nodiscard]] bool areInKnownLibraries(const std::vector<const void*>& frames) const;
  [[nodiscard]] std::vector<const void*> usersFrames(std::span<const void* const> stack,
                                                     const void* from, From kind);
  [[nodiscard]] std::optional<Pending> nextPending();
  [[nodiscard]] std::vector<SourcePlace> placesOf(const Pending& pending) const;
  void define(Definitions& out, const Pending& pending);
  /// Defines `id` below `parent`; as an unknown place where a stream may have no more texts.
  /// `withText`: with the text of its line.
  void define(Definitions& out, CallSiteId id, CallSiteId parent, const SourcePlace& place,
              bool withText);
  [[nodiscard]] CallSiteId outerNode(Definitions& out, CallSiteId parent, const SourcePlace& place,
                                     bool withText);

  LookUp lookUp_;  // empty: the symbolizer of the process
  Interpreter interpreter_ = nullptr;
  std::mutex mutex_;
  std::vector<std::string> ignored_;
  std::unordered_map<const void*, Library> libraries_;  // by base address
  std::map<std::vector<const void*>, CallSiteId> ids_;
  std::deque<Pending> pending_;
  std::size_t prepared_ = 0;  // so many of the first of pending_ went through prepareNew()
  CallSiteId next_ = kOtherId + 1;
  std::uint64_t unloaded_;
  std::atomic<std::uint64_t> generation_{0};

  // Used only by the thread that calls takeNew().
  std::unordered_map<CallSiteId, std::size_t> stackBytes_;  // of a site and its callers
  std::size_t allStackBytes_ = 0;
  SourceLines lines_;
  std::map<std::tuple<CallSiteId, std::string, std::string, std::uint32_t>, CallSiteId> nodes_;
};

/// Per-thread cache of call sites: a stack that this thread saw before costs neither a lock nor an
/// allocation.
class CallSiteCache {
 public:
  using From = CallSites::From;

  /// Makes an empty cache in front of `sites`, which must outlive it.
  explicit CallSiteCache(CallSites& sites) : sites_(sites) {}

  /// Returns the id of the calling thread's stack; kNoId or kOtherId as CallSites::intern() does.
  /// `from` and `kind` as for CallSites::intern().
  [[nodiscard]] CallSiteId here(const void* from = nullptr, From kind = From::kUser);

  /// Unwinds the stack once, because the first unwinding of a process loads a library. Call it
  /// before ops run.
  static void warmUp();

 private:
  CallSites& sites_;
  std::uint64_t generation_ = 0;
  RecentIds<64, 4> ids_;
};

}  // namespace highwater::probe
