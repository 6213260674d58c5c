#pragma once

#include <atomic>

#include "probe/readings/sampler.h"

namespace highwater::probe::test {

/// Counters that grow with each reading.
class FakeCounters : public CounterSource {
 public:
  std::optional<DeviceCounters> read() override {
    const std::uint64_t n = ++reads;
    return DeviceCounters{n, 2 * n, 1000};
  }
  std::atomic<std::uint64_t> reads{0};
};

}  // namespace highwater::probe::test
