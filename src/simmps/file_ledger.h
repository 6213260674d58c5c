#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "simmps/ledger.h"
#include "simmps/process_fork.h"
#include "simmps/settings.h"

namespace highwater::simmps {

/// What the ledger's first line says about the process, besides its settings.
struct LedgerOrigin {
  std::string_view deviceVersion;
  std::string_view torchVersion;
};

/// The ledger as JSON Lines, one object a line, in the order of the calls. Line 1 is the header:
/// {"event":"header","schema":1,"device":...,"libtorch":...,"pid":...,"clock":"monotonic_ns",
/// "settings":{...}}. Sizes are bytes, times nanoseconds of the monotonic clock.
///
/// Entries wait in memory for 64 KiB or 200 ms at most, until a drain of cause Exit or flush();
/// after the drain of cause Exit each one is written at once. A forked child adds nothing.
/// Where the file cannot take more, one message goes to stderr, the file's last line becomes
/// {"event":"incomplete","reason":...} if there is room for it, and later entries are dropped.
class FileLedger final : public Ledger {
 public:
  static constexpr std::uint64_t kSchema = 1;

  using Outcome = std::variant<std::unique_ptr<FileLedger>, std::string>;
  /// Empties or makes the file, "%p" in its name replaced by the process's id, and writes the
  /// header; or the reason why not ("No such file or directory", "another process writes to it").
  static Outcome open(const Settings& settings, const LedgerOrigin& origin);

  ~FileLedger() override;
  FileLedger(const FileLedger&) = delete;
  FileLedger& operator=(const FileLedger&) = delete;

  void add(const MemoryEntry& entry) override;
  void add(const KernelEntry& entry) override;
  void add(const DrainEntry& entry) override;
  void add(const FallbackEntry& entry) override;
  void addEvent(const EventEntry& entry) override;
  void addFault(const FaultEntry& entry) override;
  void flush() override;

 private:
  FileLedger(int file, std::string path);

  template <typename Write>
  void append(Write&& write);
  /// False with errno set where the file did not take all of writing_.
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
  std::mutex fileMutex_;  ///< of writing_ and written_; taken before mutex_ where both are
  std::mutex mutex_;
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::string buffer_;
  std::string writing_;                    ///< what the file takes next
  std::uint64_t written_ = 0;              ///< bytes that the file has taken
  std::atomic<bool> dropsEntries_{false};  ///< the file failed, or is the parent process's
  bool writesThrough_ = false;
  bool closing_ = false;
  std::thread flusher_;
  const ForkSteps fork_;
};

}  // namespace highwater::simmps
