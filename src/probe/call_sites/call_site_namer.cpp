#include "probe/call_sites/call_site_namer.h"

#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "probe/call_sites/own_process.h"
#include "probe/stream/guest_thread.h"
#include "probe/stream/take_definitions.h"

namespace highwater::probe {
namespace {

void append(std::deque<CallSiteDefinition>& to, Definitions&& from) {
  to.insert(to.end(), std::make_move_iterator(from.callSites.begin()),
            std::make_move_iterator(from.callSites.end()));
}

}  // namespace

void CallSiteNamer::lookUpNew() {
  if (!sites_.hasNew()) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return giveNoNames();
  busy_ = true;
  if (!thread_.joinable() && !startThread()) return giveNoNames();
  wake_.notify_one();
}

bool CallSiteNamer::startThread() {
  try {
    thread_ = startGuestThread([this] { run(); },
                               [this](const std::string&) {
                                 const std::lock_guard lock(mutex_);
                                 giveNoNames();
                               });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void CallSiteNamer::giveNoNames() {
  stopping_ = true;
  busy_ = false;
  Definitions unnamed;
  sites_.takeNewUnnamed(unnamed);
  append(ready_, std::move(unnamed));
}

bool CallSiteNamer::isBusy() {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void CallSiteNamer::run() {
  lowerThreadPriority();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return busy_ || stopping_; });
    if (stopping_) return;
    lookUpAll(lock);
  }
}

void CallSiteNamer::lookUpAll(std::unique_lock<std::mutex>& lock) {
  while (busy_ && !stopping_) {
    Definitions found;
    lock.unlock();
    sites_.prepareNew([this] {
      const std::lock_guard stopped(mutex_);
      return stopping_;
    });
    sites_.takeNew(found, 1);  // one at a time, so that each is ready early
    lock.lock();
    append(ready_, std::move(found));
    busy_ = sites_.hasNew();
  }
}

bool CallSiteNamer::takeReady(Definitions& out, std::size_t maxBytes) {
  const std::lock_guard lock(mutex_);
  return takeDefinitions(ready_, out.callSites, maxBytes, frameBytesOf);
}

void CallSiteNamer::finish() {
  endThread();
  busy_ = false;
  lookUpNew();
}

void CallSiteNamer::endThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace highwater::probe
