#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "simmps/policy/ledger.h"
#include "simmps/policy/process_fork.h"
#include "simmps/policy/settings.h"

namespace highwater::simmps {

/// Versions that FileLedger::open() writes into the file's header, for a reader to tell which
/// device and which libtorch produced it.
struct LedgerOrigin {
  std::string_view deviceVersion;
  std::string_view torchVersion;
};

/// Writes the simulated device's record of events (see Ledger) to a file as JSON Lines: one object
/// per line, in the order of the calls. Line 1 is the header:
/// {"event":"header","schema":1,"device":...,"libtorch":...,"pid":...,"clock":"monotonic_ns",
/// "time_ns":...,"settings":{...}}. Sizes are in bytes, times in nanoseconds of the monotonic
/// clock.
///
/// Entries are buffered, up to 64 KiB or 200 ms, until flush() or a DrainEntry of cause Exit; after
/// that entry each one is written at once. A forked child writes nothing. If writing fails, a
/// message goes to stderr, the file's last line becomes {"event":"incomplete","reason":...} if
/// there is room for it, and later entries are dropped.
class FileLedger final : public Ledger {
 public:
  /// Version of the file's format, "schema" in its header.
  static constexpr std::uint64_t kSchema = 1;

  /// The open ledger, or the reason why it could not be opened.
  using Outcome = std::variant<std::unique_ptr<FileLedger>, std::string>;
  /// Creates or empties the file ("%p" in its name becomes the process id) and writes the header.
  /// Returns the reason if that fails ("No such file or directory", "another process writes to
  /// it").
  static Outcome open(const Settings& settings, const LedgerOrigin& origin);

  ~FileLedger() override;
  FileLedger(const FileLedger&) = delete;
  FileLedger& operator=(const FileLedger&) = delete;

  void add(const MemoryEntry& entry) override;
  void add(const KernelEntry& entry) override;
  void add(const DrainEntry& entry) override;
  void add(const FallbackEntry& entry) override;
  void addEvent(const EventEntry& entry) override;
  void addNotice(const NoticeEntry& entry) override;
  void addFault(const FaultEntry& entry) override;
  void flush() override;

 private:
  FileLedger(int file, std::string path);

  void append(const nlohmann::ordered_json& entry);
  /// False, with errno set, if not all of writing_ was written.
  bool writeOut();
  void writeOrGiveUp();
  void markIncomplete(std::string_view reason);
  void startFlusher();
  void flushRegularly();
  void leaveToParent();
  void lockAll();
  void unlockAll();

  const int file_;
  const std::string path_;
  std::mutex fileMutex_;  ///< guards writing_ and written_; lock it before mutex_
  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::string buffer_;
  std::string writing_;                    ///< being written to the file
  std::uint64_t written_ = 0;              ///< bytes written to the file
  std::atomic<bool> dropsEntries_{false};  ///< writing failed, or this is a forked child
  bool writesThrough_ = false;
  bool closing_ = false;
  std::thread flusher_;
  const ForkSteps fork_;
};

}  // namespace highwater::simmps
