#include "simmps/policy/file_ledger.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/program_signals.h"

namespace highwater::simmps {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBufferBytes = 64 * 1024;
/// If the flusher falls this far behind, the thread that adds an entry writes.
constexpr std::size_t kMostBufferBytes = 64 * kBufferBytes;
constexpr std::chrono::milliseconds kLongestDelay{200};
constexpr std::string_view kHeaderStart = R"({"event":"header")";

std::string withProcessId(std::string path) {
  for (auto at = path.find("%p"); at != std::string::npos; at = path.find("%p", at)) {
    path.replace(at, 2, std::to_string(::getpid()));
  }
  return path;
}

/// True for an earlier ledger, which may be overwritten.
bool beginsAsLedger(const std::string& path) {
  std::string start(kHeaderStart.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == kHeaderStart;
}

/// Opens, locks and empties the file; returns the reason if that fails.
std::variant<int, std::string> openEmpty(const std::string& path) {
  // Not O_TRUNC: the file may be no ledger. O_NONBLOCK: opening a pipe must not block.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) return std::string(std::strerror(errno));
  std::string problem;
  struct stat about = {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    problem = "not a regular file";
  } else if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    problem = "another process writes to it";
  } else if (about.st_size > 0 && !beginsAsLedger(path)) {
    problem = "the file exists and is not a ledger";
  } else if (::ftruncate(file, 0) != 0) {
    problem = std::strerror(errno);
  }
  if (problem.empty()) return file;
  ::close(file);
  return problem;
}

Json settingsJson(const Settings& settings) {
  std::string missing;
  for (const std::string& op : settings.missingOps) missing += (missing.empty() ? "" : ",") + op;
  return {{"recommended_max", settings.limits.recommendedBytes},
          {"system_memory", settings.systemBytes},
          {"high_watermark_ratio", settings.limits.highWatermarkRatio},
          {"low_watermark_ratio", settings.limits.lowWatermarkRatio},
          {"hidden_growth", settings.hiddenGrowthBytes},
          {"graph_cache", settings.graphCacheBytes},
          {"launch_delay_ns", settings.launchDelayNs},
          {"commit_after", settings.commitAfter},
          {"slowdown", settings.slowdown},
          {"missing_ops", missing},
          {"oom_at", settings.outOfMemoryAt},
          {"hang_at", settings.hangAt},
          {"crash_at", settings.crashAt},
          {"asynchronous", settings.asynchronous},
          {"late_notices", settings.lateNotices},
          {"limits_requests_only", settings.limitsRequestsOnly},
          {"plain_out_of_memory", settings.plainOutOfMemory},
          {"cpu_fallback", settings.cpuFallback}};
}

/// An entry as a line. Bytes that are not UTF-8, which the name of an op may hold, become U+FFFD.
std::string lineOf(const Json& entry) {
  return entry.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

FileLedger::FileLedger(int file, std::string path)
    : file_(file),
      path_(std::move(path)),
      fork_(ForkOrder::Ledger,
            {[this] { lockAll(); }, [this] { unlockAll(); }, [this] { leaveToParent(); }}) {
  buffer_.reserve(2 * kBufferBytes);
  writing_.reserve(2 * kBufferBytes);
}

void FileLedger::lockAll() {
  fileMutex_.lock();
  mutex_.lock();
}

void FileLedger::unlockAll() {
  mutex_.unlock();
  fileMutex_.unlock();
}

FileLedger::Outcome FileLedger::open(const Settings& settings, const LedgerOrigin& origin) {
  const std::string path = withProcessId(settings.ledgerFile);
  const auto opened = openEmpty(path);
  if (const auto* problem = std::get_if<std::string>(&opened)) return *problem;
  std::unique_ptr<FileLedger> ledger(new FileLedger(std::get<int>(opened), path));
  ledger->writing_ = lineOf({{"event", "header"},
                             {"schema", kSchema},
                             {"device", origin.deviceVersion},
                             {"libtorch", origin.torchVersion},
                             {"pid", ::getpid()},
                             {"clock", "monotonic_ns"},
                             {"time_ns", deviceClockNs()},
                             {"settings", settingsJson(settings)}});
  if (!ledger->writeOut()) {
    std::string problem = std::strerror(errno);
    ledger->dropsEntries_ = true;
    return problem;
  }
  return ledger;
}

FileLedger::~FileLedger() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  writeOrGiveUp();
  changed_->notify_all();
  if (flusher_.joinable()) flusher_.join();
  ::close(file_);
}

// The parent owns the file and the buffered entries, and the flusher thread was not forked. Its
// handle and condition variable are leaked.
void FileLedger::leaveToParent() {
  dropsEntries_ = true;
  buffer_.clear();
  writing_.clear();
  (void)changed_.release();
  changed_ = std::make_unique<std::condition_variable>();
  if (flusher_.joinable()) (void)new std::thread(std::move(flusher_));
  unlockAll();
}

// The line is formatted, and the file written, outside of the mutex that all entries take: the
// caller is being timed and must not wait for a thread that was preempted while holding it.
void FileLedger::append(const Json& entry) {
  if (dropsEntries_.load(std::memory_order_relaxed)) return;
  const std::string text = lineOf(entry);
  bool writesNow = false;
  bool wakesFlusher = false;
  {
    const std::lock_guard lock(mutex_);
    const bool wasFull = buffer_.size() >= kBufferBytes;
    wakesFlusher = buffer_.empty();
    buffer_ += text;
    wakesFlusher = wakesFlusher || (!wasFull && buffer_.size() >= kBufferBytes);
    writesNow = writesThrough_ || buffer_.size() >= kMostBufferBytes;
    if (!writesNow) startFlusher();
  }
  if (writesNow) {
    writeOrGiveUp();
  } else if (wakesFlusher) {
    changed_->notify_one();
  }
}

void FileLedger::add(const MemoryEntry& entry) {
  Json line{{"event", nameOf(entry.kind)}, {"time_ns", entry.timeNs}, {"bytes", entry.bytes}};
  if (entry.address != 0) line["address"] = entry.address;
  if (entry.requestedBytes != 0) line["requested_bytes"] = entry.requestedBytes;
  line["current_bytes"] = entry.currentBytes;
  line["driver_bytes"] = entry.driverBytes;
  append(line);
}

void FileLedger::add(const KernelEntry& entry) {
  append({{"event", "kernel"},
          {"op", entry.op},
          {"enqueued_ns", entry.enqueuedNs},
          {"start_ns", entry.startNs},
          {"end_ns", entry.endNs}});
}

void FileLedger::add(const DrainEntry& entry) {
  append({{"event", "drain"},
          {"cause", nameOf(entry.cause)},
          {"op", entry.op},
          {"begin_ns", entry.beginNs},
          {"end_ns", entry.endNs},
          {"call_ns", entry.callNs},
          {"return_ns", entry.returnNs}});
  if (entry.cause != DrainCause::Exit) return;
  {
    const std::lock_guard lock(mutex_);
    writesThrough_ = true;
  }
  writeOrGiveUp();
}

void FileLedger::add(const FallbackEntry& entry) {
  append({{"event", "fallback"},
          {"op", entry.op},
          {"begin_ns", entry.beginNs},
          {"end_ns", entry.endNs},
          {"bytes_to_cpu", entry.bytesToCpu},
          {"bytes_to_device", entry.bytesToDevice}});
}

void FileLedger::addEvent(const EventEntry& entry) {
  append({{"event", "event_passed"},
          {"recorded_ns", entry.recordedNs},
          {"passed_ns", entry.passedNs}});
}

void FileLedger::addNotice(const NoticeEntry& entry) {
  append({{"event", "event_noticed"},
          {"recorded_ns", entry.recordedNs},
          {"noticed_ns", entry.noticedNs}});
}

void FileLedger::addFault(const FaultEntry& entry) {
  append({{"event", entry.kind == FaultEntry::Kind::Hang ? "hang" : "crash"},
          {"op", entry.op},
          {"kernel", entry.kernel},
          {"time_ns", entry.timeNs}});
}

void FileLedger::flush() {
  writeOrGiveUp();
}

bool FileLedger::writeOut() {
  std::size_t taken = 0;
  while (taken < writing_.size()) {
    const ssize_t count = ::write(file_, writing_.data() + taken, writing_.size() - taken);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    taken += static_cast<std::size_t>(count);
  }
  written_ += taken;
  const bool all = taken == writing_.size();
  // markIncomplete() reads what was written last, which may end within a line.
  writing_.resize(all ? 0 : taken);
  return all;
}

void FileLedger::writeOrGiveUp() {
  const std::lock_guard fileLock(fileMutex_);
  {
    const std::lock_guard lock(mutex_);
    writing_.swap(buffer_);
  }
  if (dropsEntries_) writing_.clear();
  if (writeOut()) return;
  const std::string reason = std::strerror(errno);
  dropsEntries_ = true;
  markIncomplete(reason);
  std::fprintf(
      stderr,
      "highwater: HIGHWATER_SIM_LEDGER: \"%s\" cannot be written any more (%s); the ledger "
      "is incomplete.\n",
      path_.c_str(), reason.c_str());
}

void FileLedger::markIncomplete(std::string_view reason) {
  const std::string mark = lineOf({{"event", "incomplete"}, {"reason", reason}});
  // If the file may not grow, the mark replaces the lines that were written last.
  const std::size_t end = writing_.size();
  const std::size_t keep =
      end > mark.size() ? writing_.rfind('\n', end - mark.size() - 1) : std::string::npos;
  const std::uint64_t start = written_ - end;
  const auto at = static_cast<off_t>(keep == std::string::npos ? start : start + keep + 1);
  writing_.clear();
  if (::ftruncate(file_, at) != 0) return;
  const ssize_t count = ::pwrite(file_, mark.data(), mark.size(), at);
  if (count >= 0 && static_cast<std::size_t>(count) < mark.size()) (void)!::ftruncate(file_, at);
}

void FileLedger::startFlusher() {
  if (flusher_.joinable() || closing_) return;
  const BlockedProgramSignals inherited;
  flusher_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "sim ledger");
    flushRegularly();
  });
}

void FileLedger::flushRegularly() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    changed_->wait(lock, [this] { return closing_ || !buffer_.empty(); });
    changed_->wait_for(lock, kLongestDelay,
                       [this] { return closing_ || buffer_.size() >= kBufferBytes; });
    lock.unlock();
    writeOrGiveUp();
    lock.lock();
  }
}

}  // namespace highwater::simmps
