#include "probe/call_sites/call_sites.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "core/paths.h"
#include "core/plain_text.h"
#include "probe/call_sites/own_process.h"
#include "wire/limits.h"

namespace highwater::probe {
namespace {

/// True for functions of PyTorch and the standard library, which are inlined into a user's program.
bool isLibraryFunction(std::string_view name) {
  for (const std::string_view space : {"at::", "c10::", "torch::", "std::", "__gnu_cxx::"}) {
    if (name.substr(0, space.size()) == space) return true;
  }
  return false;
}

bool beginsWithOneOf(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [name](const std::string& prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

constexpr const char* kUnknownFunction = "unknown function";

// Bytes that a definition takes in a frame besides its texts: table, offsets, ids, lengths,
// padding.
constexpr std::size_t kSiteOverheadBytes = 64;
// The validator counts a call site with all of its callers. See name_table.cpp.
constexpr std::size_t kMaxStackBytes = wire::kMaxDefinitionBytes / 4;

// PyTorch's own libraries, as its packages name them.
const std::vector<std::string> kTorchLibraries = {"libtorch", "libc10", "_C."};
const std::vector<std::string> kSystemLibraries = {
    "libc.",      "libc-",   "libstdc++",   "libgcc_s",   "libm.",     "libpthread",    "ld-linux",
    "libgomp",    "libomp",  "libiomp",     "libsystem_", "libdyld",   "dyld",          "libc++",
    "linux-vdso", "libobjc", "libdispatch", "Metal",      "MetalPerf", "CoreFoundation"};

/// Symbolizes with a cache that all runs of the process share: reading the tables of a program and
/// its libraries takes some hundred milliseconds.
class ProcessSymbols : public Symbolizer {
 public:
  static ProcessSymbols& shared() {
    static ProcessSymbols symbols;
    return symbols;
  }

  void prepare(std::span<const void* const> returnAddresses, const IsStopped& isStopped) override {
    const std::lock_guard lock(mutex_);
    forgetUnloaded();
    std::vector<const void*> unknown;
    for (const void* address : returnAddresses) {
      if (!known_.contains(address)) unknown.push_back(address);
    }
    if (!unknown.empty()) symbolizer_->prepare(unknown, isStopped);
  }

  std::vector<SourcePlace> placesOf(const void* returnAddress) override {
    const std::lock_guard lock(mutex_);
    forgetUnloaded();
    const auto found = known_.find(returnAddress);
    if (found != known_.end()) return found->second;
    return known_.emplace(returnAddress, symbolizer_->placesOf(returnAddress)).first->second;
  }

 private:
  void forgetUnloaded() {
    const std::uint64_t now = unloadedLibraries();
    if (now == unloaded_) return;
    known_.clear();
    unloaded_ = now;
  }

  std::mutex mutex_;
  const std::unique_ptr<Symbolizer> symbolizer_ = makeSymbolizer();
  std::map<const void*, std::vector<SourcePlace>> known_;
  std::uint64_t unloaded_ = 0;  // when known_ was filled
};

// Unwinding takes some hundred nanoseconds a frame. The user's innermost frames are nearly always
// among the first kUsualFrames. Where PyTorch's own frames (dispatch, autograd, again for each op
// that calls another) fill those, a second unwinding goes further.
constexpr std::size_t kUsualFrames = 64;
constexpr std::size_t kMaxFrames = 256;
// Cached for a stack that needs the second unwinding. Above every cap of core/ids.h.
constexpr CallSiteId kLookFurther = UINT32_MAX - 1;

/// Return addresses, innermost first.
class Stack {
 public:
  /// Unwinds the calling thread, up to `limit` frames.
  [[gnu::noinline]] explicit Stack(std::size_t limit) : limit_(limit) {
    const int count = ::backtrace(frames_.data(), static_cast<int>(limit));
    count_ = static_cast<std::size_t>(std::max(count, 0));
  }
  [[nodiscard]] std::span<const void* const> frames() const { return {frames_.data(), count_}; }
  [[nodiscard]] bool isCut() const { return count_ == limit_; }
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t hash = 0x243F6A8885A308D3u;
    for (const void* frame : frames()) {
      hash = (hash ^ reinterpret_cast<std::uintptr_t>(frame)) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

 private:
  std::array<void*, kMaxFrames> frames_;
  std::size_t limit_;
  std::size_t count_ = 0;
};

}  // namespace

std::size_t frameBytesOf(const CallSiteDefinition& site) {
  return site.function.size() + site.file.size() + site.text.size() + kSiteOverheadBytes;
}

CallSites::CallSites() : unloaded_(unloadedLibraries()) {}

void CallSites::ignoreLibrary(std::string prefix) {
  const std::lock_guard lock(mutex_);
  ignored_.push_back(std::move(prefix));
}

CallSites::Owner CallSites::ownerOf(const void* address) {
  const LoadedLibrary library = libraryAt(address);
  if (!library.base) return Owner::kSystem;
  const auto known = libraries_.find(library.base);
  if (known != libraries_.end()) return known->second.owner;
  const std::string_view name = fileNameOf(library.file);
  Owner owner = Owner::kUser;
  if (beginsWithOneOf(name, kTorchLibraries)) owner = Owner::kTorch;
  if (beginsWithOneOf(name, kSystemLibraries) || beginsWithOneOf(name, ignored_)) {
    owner = Owner::kSystem;
  }
  libraries_.emplace(library.base, Library{library.file, owner});
  return owner;
}

bool CallSites::areInKnownLibraries(const std::vector<const void*>& frames) const {
  return std::all_of(frames.begin(), frames.end(), [this](const void* address) {
    return libraries_.count(libraryAt(address).base) > 0;
  });
}

void CallSites::noticeUnloads() {
  const std::uint64_t unloaded = unloadedLibraries();
  const std::lock_guard lock(mutex_);
  if (unloaded == unloaded_) return;
  unloaded_ = unloaded;
  const std::size_t gone = std::erase_if(libraries_, [](const auto& known) {
    const LoadedLibrary now = libraryAt(known.first);
    return now.base != known.first || now.file != known.second.file;
  });
  if (gone == 0) return;
  std::erase_if(ids_, [this](const auto& known) { return !areInKnownLibraries(known.first); });
  // These can no longer be symbolized.
  for (Pending& pending : pending_) {
    if (!areInKnownLibraries(pending.frames)) pending.frames.clear();
  }
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<const void*> CallSites::usersFrames(std::span<const void* const> stack,
                                                const void* from, From kind) {
  auto at = stack.begin();
  if (from && kind == From::kUser) at = std::find(at, stack.end(), from);
  // The outermost one: ops that the kernel's op calls may have the same kernel.
  if (from && kind == From::kKernel) {
    at = std::find(stack.rbegin(), stack.rend(), from).base();
    if (at == stack.begin()) return {};
  }
  if (!from || kind == From::kKernel) {  // the probe's own frames come first
    at = std::find_if(at, stack.end(),
                      [this](const void* each) { return ownerOf(each) == Owner::kTorch; });
  }
  std::vector<const void*> frames;
  for (; at != stack.end() && frames.size() < kLookedAt; ++at) {
    if (ownerOf(*at) == Owner::kUser) frames.push_back(*at);
  }
  return frames;
}

CallSiteId CallSites::intern(std::span<const void* const> stack, const void* from, From kind) {
  const std::lock_guard lock(mutex_);
  std::vector<const void*> frames = usersFrames(stack, from, kind);
  if (frames.empty()) return kNoId;
  const auto known = ids_.find(frames);
  if (known != ids_.end()) return known->second;
  if (next_ >= kMaxCallSites) return kOtherId;
  const CallSiteId id = next_++;
  pending_.push_back({id, frames, {}});
  ids_.emplace(std::move(frames), id);
  return id;
}

CallSiteId CallSites::internPlaces(std::vector<SourcePlace> places) {
  if (places.empty()) return kNoId;
  const std::lock_guard lock(mutex_);
  if (next_ >= kMaxCallSites) return kOtherId;
  const CallSiteId id = next_++;
  pending_.push_back({id, {}, std::move(places)});
  return id;
}

CallSiteId CallSites::here(const void* from) {
  if (interpreter_) return interpreter_(*this);
  return intern(Stack(kUsualFrames).frames(), from);
}

bool CallSites::hasNew() {
  const std::lock_guard lock(mutex_);
  return !pending_.empty();
}

std::optional<CallSites::Pending> CallSites::nextPending() {
  const std::lock_guard lock(mutex_);
  if (pending_.empty()) return std::nullopt;
  std::optional<Pending> next(std::move(pending_.front()));
  pending_.pop_front();
  if (prepared_ > 0) --prepared_;
  return next;
}

void CallSites::prepareNew(const Symbolizer::IsStopped& isStopped) {
  if (lookUp_) return;
  std::vector<const void*> addresses;
  {
    const std::lock_guard lock(mutex_);
    for (; prepared_ < pending_.size(); ++prepared_) {
      const std::vector<const void*>& frames = pending_[prepared_].frames;
      addresses.insert(addresses.end(), frames.begin(), frames.end());
    }
  }
  if (!addresses.empty()) ProcessSymbols::shared().prepare(addresses, isStopped);
}

bool CallSites::takeNew(Definitions& out, std::size_t maxBytes) {
  std::size_t bytes = 0, counted = out.callSites.size();
  while (bytes < maxBytes) {
    const auto pending = nextPending();
    if (!pending) return false;
    try {
      define(out, *pending);
    } catch (const std::exception&) {  // else its events would wait for ever
      out.callSites.push_back({pending->id, kNoId, kUnknownFunction, {}, 0});
    }
    for (; counted < out.callSites.size(); ++counted) bytes += frameBytesOf(out.callSites[counted]);
  }
  const std::lock_guard lock(mutex_);
  return !pending_.empty();
}

void CallSites::takeNewUnnamed(Definitions& out) {
  while (const auto pending = nextPending()) {
    out.callSites.push_back({pending->id, kNoId, kUnknownFunction, {}, 0});
  }
}

CallSiteId CallSites::outerNode(Definitions& out, CallSiteId parent, const SourcePlace& place,
                                bool withText) {
  const auto key = std::make_tuple(parent, place.function, place.file, place.line);
  if (const auto known = nodes_.find(key); known != nodes_.end()) return known->second;
  CallSiteId id = kNoId;
  {
    const std::lock_guard lock(mutex_);
    if (next_ >= kMaxCallSites) return parent;
    id = next_++;
  }
  nodes_.emplace(key, id);
  define(out, id, parent, place, withText);
  return id;
}

void CallSites::define(Definitions& out, CallSiteId id, CallSiteId parent, const SourcePlace& place,
                       bool withText) {
  std::string text = withText ? lines_.text(place.file, place.line) : std::string();
  const std::size_t bytes =
      place.function.size() + place.file.size() + text.size() + stackBytes_[parent];
  if (allStackBytes_ + bytes > kMaxStackBytes) {
    out.callSites.push_back({id, kNoId, kUnknownFunction, {}, 0});
    return;
  }
  allStackBytes_ += bytes;
  stackBytes_[id] = bytes;
  out.callSites.push_back({id, parent, place.function, place.file, place.line, std::move(text)});
}

std::vector<SourcePlace> CallSites::placesOf(const Pending& pending) const {
  std::vector<SourcePlace> places;
  const auto add = [&places](SourcePlace place) {
    if (places.size() == kKept) return;
    place.function.resize(cutText(place.function, wire::kMaxNameBytes).size());
    place.file.resize(cutText(place.file, wire::kMaxTextBytes).size());
    places.push_back(std::move(place));
  };
  for (const SourcePlace& place : pending.places) add(place);
  for (const void* address : pending.frames) {
    for (SourcePlace& place :
         lookUp_ ? lookUp_(address) : ProcessSymbols::shared().placesOf(address)) {
      if (!isLibraryFunction(place.function)) add(std::move(place));
    }
    if (places.size() == kKept) break;
  }
  return places;
}

void CallSites::define(Definitions& out, const Pending& pending) {
  // Compiled code has none: its sources may be another machine's.
  const bool withText = !pending.places.empty();
  std::vector<SourcePlace> places = placesOf(pending);
  CallSiteId parent = kNoId;
  while (places.size() > 1) {
    parent = outerNode(out, parent, places.back(), withText);
    places.pop_back();
  }
  const SourcePlace place = places.empty() ? SourcePlace{kUnknownFunction, {}, 0} : places[0];
  define(out, pending.id, parent, place, withText);
}

CallSiteId CallSiteCache::here(const void* from, From kind) {
  if (const auto ask = sites_.interpreter()) return ask(sites_);
  if (const std::uint64_t now = sites_.generation(); now != generation_) {
    ids_.forget();
    generation_ = now;
  }
  const Stack stack(kUsualFrames);
  const CallSiteId id = ids_.find(stack.hash(), [&] {
    const CallSiteId found = sites_.intern(stack.frames(), from, kind);
    return found == kNoId && stack.isCut() ? kLookFurther : found;
  });
  if (id != kLookFurther) return id;
  const Stack whole(kMaxFrames);
  return ids_.find(whole.hash(), [&] { return sites_.intern(whole.frames(), from, kind); });
}

void CallSiteCache::warmUp() {
  std::array<void*, 2> stack;
  (void)::backtrace(stack.data(), static_cast<int>(stack.size()));
}

}  // namespace highwater::probe
