#pragma once

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/definition_table.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/limits.h"
#include "wire/validator.h"

namespace highwater::probe::test {

/// The host's end of a socket pair: a thread reads, decodes and validates everything.
class Host {
 public:
  Host() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) std::abort();
    ours_ = fds[0];
    theirs = fds[1];
  }
  ~Host() {
    hangUp();
    ::close(theirs);
  }
  void start() {
    thread_ = std::thread([this] { read(); });
  }
  /// Shuts down the worker's end and waits until everything was read.
  void finish() {
    ::shutdown(theirs, SHUT_WR);
    if (thread_.joinable()) thread_.join();
  }
  void hangUp() {
    if (ours_ >= 0) ::shutdown(ours_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    if (ours_ >= 0) ::close(ours_);
    ours_ = -1;
  }

  /// Bytes waiting in the socket.
  [[nodiscard]] int unreadBytes() const {
    int bytes = 0;
    return ::ioctl(ours_, FIONREAD, &bytes) == 0 ? bytes : -1;
  }

  int theirs = -1;
  std::string complaint;
  std::map<NameId, std::string> names;
  DefinitionTable definitions;
  std::vector<events::StepRecord> steps;
  std::vector<events::SyncPoint> syncPoints;
  std::vector<events::MemorySample> samples;
  std::vector<events::OpenSpan> openSpans;
  std::vector<std::int64_t> completeUpTo;
  std::map<events::EventKind, std::uint64_t> drops;
  std::atomic<int> heartbeats{0};
  std::atomic<int> openSeen{0};
  std::atomic<int> syncsSeen{0};
  std::size_t largestFrame = 0;

 private:
  void read() {
    std::vector<std::uint8_t> buffer(1 << 16);
    while (true) {
      const ssize_t n = ::read(ours_, buffer.data(), buffer.size());
      if (n <= 0) return;
      frames_.append({buffer.data(), static_cast<std::size_t>(n)});
      while (complaint.empty() && takeFrame()) {
      }
    }
  }
  bool takeFrame() {
    const auto frame = frames_.next();
    if (!frame) return complain(frame.error());
    if (!frame->has_value()) return false;
    largestFrame = std::max(largestFrame, (*frame)->size());
    const auto message = wire::decode(**frame);
    if (!message) return complain(message.error());
    if (const auto fine = validator_.check(*message); !fine) return complain(fine.error());
    if (const auto* d = std::get_if<Definitions>(&*message)) {
      definitions.add(*d);
      for (const auto& name : d->names) names[name.id] = name.text;
    }
    if (const auto* b = std::get_if<EventBatch>(&*message)) takeBatch(*b);
    return true;
  }
  void takeBatch(const EventBatch& batch) {
    // Events after a batch must not be older than its completeUpToNs.
    for (const auto& sample : batch.memorySamples) {
      if (!completeUpTo.empty() && sample.time_ns() < completeUpTo.back()) {
        complaint = "a sample came late";
      }
    }
    steps.insert(steps.end(), batch.steps.begin(), batch.steps.end());
    samples.insert(samples.end(), batch.memorySamples.begin(), batch.memorySamples.end());
    openSpans.insert(openSpans.end(), batch.openSpans.begin(), batch.openSpans.end());
    for (const auto& sync : batch.syncPoints) {
      if (!completeUpTo.empty() && sync.begin_ns() + sync.duration_ns() < completeUpTo.back()) {
        complaint = "a sync point came late";
      }
    }
    syncPoints.insert(syncPoints.end(), batch.syncPoints.begin(), batch.syncPoints.end());
    completeUpTo.push_back(batch.completeUpToNs);
    for (const auto& drop : batch.drops) drops[drop.kind()] += drop.count();
    heartbeats += static_cast<int>(batch.heartbeats.size());
    openSeen += static_cast<int>(batch.openSpans.size());
    syncsSeen += static_cast<int>(batch.syncPoints.size());
  }
  bool complain(const Error& error) {
    complaint = error.message;
    return false;
  }

  int ours_ = -1;
  std::thread thread_;
  wire::FrameReader frames_;
  wire::Validator validator_{wire::StreamSource::kWorker};
};

inline Hello hello(const RunClock& clock) {
  Hello h;
  h.protocolVersion = wire::kProtocolVersion;
  h.clock = clock;
  h.device.selected = "cpu";
  return h;
}

}  // namespace highwater::probe::test
