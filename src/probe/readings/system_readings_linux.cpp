#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/units.h"
#include "probe/readings/system_readings.h"

namespace highwater::probe {
namespace {

/// A file of /proc that is read repeatedly from its start.
class ProcFile {
 public:
  explicit ProcFile(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~ProcFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;

  /// The file's text, valid until the next call; empty where it cannot be read.
  [[nodiscard]] std::string_view read() {
    if (fd_ < 0) return {};
    const ssize_t n = ::pread(fd_, buffer_.data(), buffer_.size(), 0);
    return n > 0 ? std::string_view(buffer_.data(), static_cast<std::size_t>(n))
                 : std::string_view();
  }

 private:
  int fd_;
  std::array<char, 8192> buffer_{};
};

std::optional<std::int64_t> integerAt(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The integer that follows `key` in `text`.
std::optional<std::int64_t> integerAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return integerAt(text.substr(at + key.size()));
}

class LinuxSystemReader : public SystemReader {
 public:
  SystemReadings read() override {
    SystemReadings readings;
    const std::string_view statm = statm_.read();
    if (const std::size_t space = statm.find(' '); space != std::string_view::npos) {
      if (const auto pages = integerAt(statm.substr(space))) {
        readings.footprintBytes = *pages * pageBytes_;
      }
    }
    const std::string_view meminfo = meminfo_.read();
    const auto kib = static_cast<std::int64_t>(kKiB);
    if (const auto available = integerAfter(meminfo, "MemAvailable:")) {
      readings.availableBytes = *available * kib;
    }
    const auto swapTotal = integerAfter(meminfo, "SwapTotal:");
    const auto swapFree = integerAfter(meminfo, "SwapFree:");
    if (swapTotal && swapFree) readings.swapUsedBytes = (*swapTotal - *swapFree) * kib;
    // The pool of zswap. A zram device is a disk of its own, whose memory is not told here.
    if (const auto zswap = integerAfter(meminfo, "Zswap:")) readings.compressorBytes = *zswap * kib;
    const std::string_view vmstat = vmstat_.read();
    if (const auto in = integerAfter(vmstat, "\npswpin ")) {
      readings.swappedInBytes = *in * pageBytes_;
    }
    if (const auto out = integerAfter(vmstat, "\npswpout ")) {
      readings.swappedOutBytes = *out * pageBytes_;
    }
    readings.pressure = pressure();
    readings.power = readPowerState();
    return readings;
  }

 private:
  /// Linux has no pressure levels, so they are derived from the stalls of the last 10 s, in whole
  /// percent: warning where some tasks waited for memory 10 % of the time, critical where all tasks
  /// did ("full").
  events::Pressure pressure() {
    const std::string_view text = pressure_.read();
    const auto some = integerAfter(text, "some avg10=");
    const auto full = integerAfter(text, "full avg10=");
    if (!some) return events::Pressure::Unknown;
    if (full && *full >= 10) return events::Pressure::Critical;
    return *some >= 10 ? events::Pressure::Warning : events::Pressure::Normal;
  }

  ProcFile statm_{"/proc/self/statm"};
  ProcFile meminfo_{"/proc/meminfo"};
  ProcFile vmstat_{"/proc/vmstat"};
  ProcFile pressure_{"/proc/pressure/memory"};
  std::int64_t pageBytes_ = ::sysconf(_SC_PAGESIZE);
};

}  // namespace

std::unique_ptr<SystemReader> makeSystemReader() {
  return std::make_unique<LinuxSystemReader>();
}

std::optional<std::uint64_t> gpuWiredLimitBytes() {
  return std::nullopt;
}

std::uint64_t physicalMemoryBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long pageBytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || pageBytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(pageBytes);
}

}  // namespace highwater::probe
