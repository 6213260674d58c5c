#include "probe/call_sites/atos_symbolizer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "probe/call_sites/own_process.h"

namespace highwater::probe {
namespace {

#if defined(__x86_64__)
constexpr const char* kAtosArchitecture = "x86_64";
#else
constexpr const char* kAtosArchitecture = "arm64";
#endif
// Addresses of one start: their text stays far below the limit for a command line.
constexpr std::size_t kAtosBatch = 500;

std::string hexOf(std::uintptr_t address) {
  std::array<char, 24> text{};
  (void)std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
  return text.data();
}

/// What `atos` may need of the environment: not the variables that load libraries into it.
std::vector<std::string> environmentOfAtos() {
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"};
  for (const char* name : {"HOME", "TMPDIR", "DEVELOPER_DIR"}) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + '=' + value);
  }
  return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Reads until the end of the pipe. None at an error, after the limit, or once stopped.
std::optional<std::string> readAll(int pipe, std::chrono::milliseconds limit,
                                   const Symbolizer::IsStopped& isStopped) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLookAtStop{50};
  const Clock::time_point end = Clock::now() + limit;
  std::string all;
  std::array<char, 4096> part;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || isStopped()) return std::nullopt;
    pollfd waited{pipe, POLLIN, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::min(left, kLookAtStop).count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return std::nullopt;
    const ssize_t count = ::read(pipe, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return all;
    all.append(part.data(), static_cast<std::size_t>(count));
  }
}

struct Output {
  std::optional<std::string> text;  ///< none if the program could not be started or did not end
  bool succeeded = false;
};

/// What the program prints to stdout. It is killed at the limit, and once stopped.
Output outputOf(std::vector<std::string> command, std::chrono::milliseconds limit,
                const Symbolizer::IsStopped& isStopped) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  for (const int end : ends) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  (void)sigemptyset(&none);  // a macro on macOS
  (void)::posix_spawn_file_actions_init(&files);
  (void)::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  (void)::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  (void)::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  (void)::posix_spawnattr_init(&attributes);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  (void)::posix_spawnattr_setsigmask(&attributes, &none);
  std::vector<std::string> environment = environmentOfAtos();
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, command[0].c_str(), &files, &attributes,
                                   pointersTo(command).data(), pointersTo(environment).data());
  (void)::posix_spawnattr_destroy(&attributes);
  (void)::posix_spawn_file_actions_destroy(&files);
  (void)::close(ends[1]);
  Output output;
  if (failed == 0) {
    output.text = readAll(ends[0], limit, isStopped);
    if (!output.text) (void)::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    output.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  (void)::close(ends[0]);
  return output;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<SourcePlace> placeFromAtos(std::string_view text) {
  const std::size_t image = text.rfind(" (in ");
  if (image == std::string_view::npos || text.starts_with("0x")) return std::nullopt;
  SourcePlace place;
  place.function = shortFunctionName(std::string(text.substr(0, image)));
  // "(in program) (file.cpp:12)"; a file that the compiler made up is "<compiler-generated>".
  const std::size_t open = text.find(") (", image);
  if (open == std::string_view::npos || !text.ends_with(')')) return place;
  const std::string_view source = text.substr(open + 3, text.size() - open - 4);
  const std::size_t colon = source.rfind(':');
  if (colon == std::string_view::npos || source.starts_with('<')) return place;
  const char* last = source.data() + source.size();
  const auto read = std::from_chars(source.data() + colon + 1, last, place.line);
  if (read.ec != std::errc() || read.ptr != last) return place;
  place.file = source.substr(0, colon);
  return place;
}

}  // namespace

std::vector<SourcePlace> placesFromAtos(std::string_view line) {
  std::vector<SourcePlace> places;
  for (const std::string_view part : split(line, kAtosDelimiter)) {
    if (auto place = placeFromAtos(part)) places.push_back(std::move(*place));
  }
  return places;
}

void AtosSymbolizer::prepare(std::span<const void* const> returnAddresses,
                             const IsStopped& isStopped) {
  if (const std::uint64_t now = unloadedLibraries(); now != unloaded_) {
    known_.clear();
    failed_.clear();
    unloaded_ = now;
  }
  struct Asked {
    std::string file;
    Addresses addresses;
  };
  std::map<const void*, Asked> libraries;
  for (const void* address : returnAddresses) {
    if (tool_.empty() || known_.contains(address)) continue;
    const LoadedLibrary library = libraryAt(static_cast<const char*>(address) - 1);
    // Libraries of macOS are in a cache that the linker knows, not in files.
    if (!library.base || failed_.contains(library.base) ||
        ::access(library.file.c_str(), R_OK) != 0) {
      continue;
    }
    Asked& asked = libraries[library.base];
    asked.file = library.file;
    if (std::find(asked.addresses.begin(), asked.addresses.end(), address) ==
        asked.addresses.end()) {
      asked.addresses.push_back(address);
    }
  }
  for (const auto& [base, asked] : libraries) {
    for (std::size_t i = 0; i < asked.addresses.size(); i += kAtosBatch) {
      const auto begin = asked.addresses.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = std::min(kAtosBatch, asked.addresses.size() - i);
      askFor(base, asked.file, Addresses(begin, begin + static_cast<std::ptrdiff_t>(count)),
             isStopped);
    }
  }
}

void AtosSymbolizer::askFor(const void* base, const std::string& library,
                            const Addresses& returnAddresses, const IsStopped& isStopped) {
  if (tool_.empty() || failed_.contains(base) || isStopped()) return;
  Answer answer = ask(base, library, returnAddresses, true, isStopped);
  // An `atos` that does not know -d prints inlined functions in lines of their own.
  if (answer == Answer::kUnreadable) {
    answer = ask(base, library, returnAddresses, false, isStopped);
  }
  if (answer == Answer::kUnreadable) failed_.insert(base);
  if (answer == Answer::kNone) tool_.clear();
}

AtosSymbolizer::Answer AtosSymbolizer::ask(const void* base, const std::string& library,
                                           const Addresses& returnAddresses, bool inlined,
                                           const IsStopped& isStopped) {
  std::vector<std::string> command = {tool_,
                                      "-o",
                                      library,
                                      "-arch",
                                      kAtosArchitecture,
                                      "-l",
                                      hexOf(reinterpret_cast<std::uintptr_t>(base)),
                                      "-fullPath"};
  if (inlined) command.insert(command.end(), {"-i", "-d", std::string(1, kAtosDelimiter)});
  for (const void* address : returnAddresses) {
    // A return address may be the first byte of the next function.
    command.push_back(hexOf(reinterpret_cast<std::uintptr_t>(address) - 1));
  }
  const Output output = outputOf(std::move(command), limit_, isStopped);
  if (!output.text) return isStopped() ? Answer::kStopped : Answer::kNone;
  const std::vector<std::string_view> lines = split(*output.text, '\n');
  if (!output.succeeded || lines.size() != returnAddresses.size()) return Answer::kUnreadable;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<SourcePlace> places = placesFromAtos(lines[i]);
    if (places.empty()) {
      places = placesByLinker(returnAddresses[i]);
    } else if (places.back().file.empty()) {
      places.back().file = library;
    }
    known_[returnAddresses[i]] = std::move(places);
  }
  return Answer::kRead;
}

std::vector<SourcePlace> AtosSymbolizer::placesOf(const void* returnAddress) {
  const auto found = known_.find(returnAddress);
  return found != known_.end() ? found->second : placesByLinker(returnAddress);
}

std::string findAtos(const std::string& root) {
  for (const char* tools : {"/var/db/xcode_select_link", "/Library/Developer/CommandLineTools",
                            "/Applications/Xcode.app/Contents/Developer"}) {
    const std::string path = root + tools + "/usr/bin/atos";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace highwater::probe
