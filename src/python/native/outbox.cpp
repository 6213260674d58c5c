#include "python/native/outbox.h"

#include <string>
#include <utility>

#include "probe/stream/guest_thread.h"

namespace highwater::python {

Outbox::Outbox(probe::FrameWriter& writer)
    : writer_(writer),
      thread_(probe::startGuestThread([this] { run(); },
                                      [this](const std::string& why) { writer_.breakOff(why); })) {}

Outbox::~Outbox() {
  stop();
}

void Outbox::post(Message message) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(message));
  changed_.notify_all();
}

void Outbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Outbox::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || !posted_.empty(); });
    if (posted_.empty()) return;
    const std::vector<Message> due = std::exchange(posted_, {});
    lock.unlock();
    for (const Message& message : due) (void)writer_.send(message).ok();
    lock.lock();
  }
}

}  // namespace highwater::python
