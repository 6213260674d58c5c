#include "probe/call_sites.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "wire/limits.h"

namespace highwater::probe {
namespace {

/// Whether the function is one of the libraries that are inlined into a program which uses PyTorch.
bool isLibraryFunction(std::string_view name) {
  for (const std::string_view space : {"at::", "c10::", "torch::", "std::", "__gnu_cxx::"}) {
    if (name.substr(0, space.size()) == space) return true;
  }
  return false;
}

std::string_view fileName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool beginsWithOneOf(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [name](const std::string& prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

// What a place takes in a frame beside its texts: table, offsets, ids, lengths, padding.
constexpr std::size_t kDefinitionOverheadBytes = 64;

std::size_t bytesOf(const CallSiteDefinition& site) {
  return site.function.size() + site.file.size() + kDefinitionOverheadBytes;
}

// PyTorch's own libraries, as its packages name them.
const std::vector<std::string> kTorchLibraries = {"libtorch", "libc10", "_C."};
const std::vector<std::string> kSystemLibraries = {
    "libc.",      "libc-",   "libstdc++",   "libgcc_s",   "libm.",     "libpthread",    "ld-linux",
    "libgomp",    "libomp",  "libiomp",     "libsystem_", "libdyld",   "dyld",          "libc++",
    "linux-vdso", "libobjc", "libdispatch", "Metal",      "MetalPerf", "CoreFoundation"};

/// What the process knows of its code, once for all runs in it: reading the tables of a program and
/// its libraries takes some hundred milliseconds.
std::vector<SourcePlace> placesOf(const void* returnAddress) {
  static std::mutex mutex;
  static const std::unique_ptr<Symbolizer> symbolizer = makeSymbolizer();
  static std::map<const void*, std::vector<SourcePlace>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(returnAddress);
  if (found != known.end()) return found->second;
  return known.emplace(returnAddress, symbolizer->placesOf(returnAddress)).first->second;
}

}  // namespace

CallSites::CallSites() = default;

void CallSites::ignoreLibrary(std::string prefix) {
  const std::lock_guard lock(mutex_);
  ignored_.push_back(std::move(prefix));
}

CallSites::Owner CallSites::ownerOf(const void* address) {
  Dl_info info{};
  if (!::dladdr(address, &info) || !info.dli_fbase || !info.dli_fname) return Owner::kSystem;
  const auto known = owners_.find(info.dli_fbase);
  if (known != owners_.end()) return known->second;
  const std::string_view name = fileName(info.dli_fname);
  Owner owner = Owner::kUser;
  if (beginsWithOneOf(name, kTorchLibraries)) owner = Owner::kTorch;
  if (beginsWithOneOf(name, kSystemLibraries) || beginsWithOneOf(name, ignored_)) {
    owner = Owner::kSystem;
  }
  owners_.emplace(info.dli_fbase, owner);
  return owner;
}

std::vector<const void*> CallSites::usersFrames(const std::vector<const void*>& stack,
                                                const void* from) {
  std::vector<const void*> frames;
  bool inside = true;  // in the probe's own frames, which have called this
  for (const void* address : stack) {
    const Owner owner = ownerOf(address);
    if (inside) {
      inside = from ? address != from : owner != Owner::kTorch;
      if (inside || !from) continue;
    }
    if (owner != Owner::kUser) continue;
    frames.push_back(address);
    if (frames.size() == kLookedAt) break;
  }
  return frames;
}

CallSiteId CallSites::intern(const std::vector<const void*>& stack, const void* from) {
  const std::lock_guard lock(mutex_);
  std::vector<const void*> frames = usersFrames(stack, from);
  if (frames.empty()) return kNoId;
  const auto known = ids_.find(frames);
  if (known != ids_.end()) return known->second;
  if (next_ >= kMaxCallSites) return kOtherId;
  const CallSiteId id = next_++;
  pending_.push_back({id, frames});
  ids_.emplace(std::move(frames), id);
  return id;
}

std::optional<CallSites::Pending> CallSites::nextPending() {
  const std::lock_guard lock(mutex_);
  if (pending_.empty()) return std::nullopt;
  std::optional<Pending> next(std::move(pending_.front()));
  pending_.pop_front();
  return next;
}

bool CallSites::takeNew(Definitions& out, std::size_t maxBytes) {
  std::size_t bytes = 0, counted = out.callSites.size();
  while (bytes < maxBytes) {
    const auto pending = nextPending();
    if (!pending) return false;
    define(out, *pending);
    for (; counted < out.callSites.size(); ++counted) bytes += bytesOf(out.callSites[counted]);
  }
  const std::lock_guard lock(mutex_);
  return !pending_.empty();
}

CallSiteId CallSites::outerNode(Definitions& out, CallSiteId parent, const SourcePlace& place) {
  const auto key = std::make_tuple(parent, place.function, place.file, place.line);
  if (const auto known = nodes_.find(key); known != nodes_.end()) return known->second;
  CallSiteId id = kNoId;
  {
    const std::lock_guard lock(mutex_);
    if (next_ >= kMaxCallSites) return parent;
    id = next_++;
  }
  nodes_.emplace(key, id);
  out.callSites.push_back({id, parent, place.function, place.file, place.line});
  return id;
}

void CallSites::define(Definitions& out, const Pending& pending) {
  std::vector<SourcePlace> places;
  for (const void* address : pending.frames) {
    for (SourcePlace& place : placesOf(address)) {
      if (isLibraryFunction(place.function) || places.size() == kKept) continue;
      place.function.resize(std::min(place.function.size(), wire::kMaxNameBytes));
      place.file.resize(std::min(place.file.size(), wire::kMaxTextBytes));
      places.push_back(std::move(place));
    }
  }
  CallSiteId parent = kNoId;
  while (places.size() > 1) {
    parent = outerNode(out, parent, places.back());
    places.pop_back();
  }
  const SourcePlace place = places.empty() ? SourcePlace{"unknown function", {}, 0} : places[0];
  out.callSites.push_back({pending.id, parent, place.function, place.file, place.line});
}

CallSiteId CallSiteCache::here(const void* from) {
  std::array<void*, kMaxFrames> stack;
  const int count = ::backtrace(stack.data(), static_cast<int>(stack.size()));
  if (count <= 0) return kNoId;
  std::uint64_t hash = 0x243F6A8885A308D3u;
  for (int i = 0; i < count; ++i) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(stack[static_cast<std::size_t>(i)])) *
           0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  hash |= 1;
  Set& set = sets_[(hash >> 1) % kSets];
  for (const Entry& entry : set.entries) {
    if (entry.hash == hash) return entry.id;
  }
  const std::vector<const void*> addresses(stack.begin(), stack.begin() + count);
  const CallSiteId id = sites_.intern(addresses, from);
  set.entries[set.next] = {hash, id};
  set.next = (set.next + 1) % kWays;
  return id;
}

void CallSiteCache::warmUp() {
  std::array<void*, 2> stack;
  (void)::backtrace(stack.data(), static_cast<int>(stack.size()));
}

}  // namespace highwater::probe
