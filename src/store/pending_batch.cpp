#include "store/pending_batch.h"

#include <algorithm>

namespace highwater::store {

void PendingBatch::add(std::span<const std::uint8_t> frame, const Message& message) {
  frames.insert(frames.end(), frame.begin(), frame.end());
  ++frameCount;
  kinds |= kindBit(message);
  const auto* batch = std::get_if<EventBatch>(&message);
  if (!batch) return;
  batch->forEachKind([this]<typename Event>(std::span<const Event> events) {
    for (const Event& e : events) {
      kinds |= kindBit(EventTraits<Event>::kKind);
      firstNs = std::min(firstNs.value_or(beginNsOf(e)), beginNsOf(e));
      lastNs = std::max(lastNs.value_or(endNsOf(e)), endNsOf(e));
    }
  });
}

}  // namespace highwater::store
