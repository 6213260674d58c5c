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
#include <utility>

#include "core/program_signals.h"
#include "simmps/policy/json_line.h"

namespace highwater::simmps {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
/// If the flusher falls this far behind, the thread that adds an entry writes.
constexpr std::size_t kMostBufferBytes = 64 * kBufferBytes;
constexpr std::size_t kUsualLineBytes = 256;
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

void writeSettings(JsonLine& line, const Settings& settings) {
  std::string missing;
  for (const std::string& op : settings.missingOps) {
    if (!missing.empty()) missing += ',';
    missing += op;
  }
  line.beginObject("settings")
      .number("recommended_max", settings.limits.recommendedBytes)
      .number("system_memory", settings.systemBytes)
      .real("high_watermark_ratio", settings.limits.highWatermarkRatio)
      .real("low_watermark_ratio", settings.limits.lowWatermarkRatio)
      .number("hidden_growth", settings.hiddenGrowthBytes)
      .number("graph_cache", settings.graphCacheBytes)
      .number("launch_delay_ns", settings.launchDelayNs)
      .number("commit_after", settings.commitAfter)
      .real("slowdown", settings.slowdown)
      .text("missing_ops", missing)
      .number("oom_at", settings.outOfMemoryAt)
      .number("hang_at", settings.hangAt)
      .number("crash_at", settings.crashAt)
      .boolean("asynchronous", settings.asynchronous)
      .boolean("late_notices", settings.lateNotices)
      .boolean("limits_requests_only", settings.limitsRequestsOnly)
      .boolean("plain_out_of_memory", settings.plainOutOfMemory)
      .boolean("cpu_fallback", settings.cpuFallback)
      .endObject();
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
  {
    JsonLine line(ledger->writing_, "header");
    line.number("schema", kSchema)
        .text("device", origin.deviceVersion)
        .text("libtorch", origin.torchVersion)
        .number("pid", static_cast<std::uint64_t>(::getpid()))
        .text("clock", "monotonic_ns")
        .number("time_ns", deviceClockNs());
    writeSettings(line, settings);
  }
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
template <typename Write>
void FileLedger::append(Write&& write) {
  if (dropsEntries_.load(std::memory_order_relaxed)) return;
  std::string text;
  text.reserve(kUsualLineBytes);
  write(text);
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
  append([&](std::string& out) {
    JsonLine line(out, nameOf(entry.kind));
    line.number("time_ns", entry.timeNs).number("bytes", entry.bytes);
    if (entry.address != 0) line.number("address", entry.address);
    if (entry.requestedBytes != 0) line.number("requested_bytes", entry.requestedBytes);
    line.number("current_bytes", entry.currentBytes).number("driver_bytes", entry.driverBytes);
  });
}

void FileLedger::add(const KernelEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, "kernel")
        .text("op", entry.op)
        .number("enqueued_ns", entry.enqueuedNs)
        .number("start_ns", entry.startNs)
        .number("end_ns", entry.endNs);
  });
}

void FileLedger::add(const DrainEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, "drain")
        .text("cause", nameOf(entry.cause))
        .text("op", entry.op)
        .number("begin_ns", entry.beginNs)
        .number("end_ns", entry.endNs)
        .number("call_ns", entry.callNs)
        .number("return_ns", entry.returnNs);
  });
  if (entry.cause != DrainCause::Exit) return;
  {
    const std::lock_guard lock(mutex_);
    writesThrough_ = true;
  }
  writeOrGiveUp();
}

void FileLedger::add(const FallbackEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, "fallback")
        .text("op", entry.op)
        .number("begin_ns", entry.beginNs)
        .number("end_ns", entry.endNs)
        .number("bytes_to_cpu", entry.bytesToCpu)
        .number("bytes_to_device", entry.bytesToDevice);
  });
}

void FileLedger::addEvent(const EventEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, "event_passed")
        .number("recorded_ns", entry.recordedNs)
        .number("passed_ns", entry.passedNs);
  });
}

void FileLedger::addNotice(const NoticeEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, "event_noticed")
        .number("recorded_ns", entry.recordedNs)
        .number("noticed_ns", entry.noticedNs);
  });
}

void FileLedger::addFault(const FaultEntry& entry) {
  append([&](std::string& out) {
    JsonLine(out, entry.kind == FaultEntry::Kind::Hang ? "hang" : "crash")
        .text("op", entry.op)
        .number("kernel", entry.kernel)
        .number("time_ns", entry.timeNs);
  });
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
  std::string mark;
  JsonLine(mark, "incomplete").text("reason", reason);
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
