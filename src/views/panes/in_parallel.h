#pragma once

#include <QSemaphore>
#include <QThread>
#include <QThreadPool>
#include <algorithm>
#include <atomic>
#include <memory>

namespace highwater::views {

/// Calls work(i) for each i from 0 to count - 1, on this thread and on idle ones of the global
/// thread pool, in any order, and returns when all are done. Never waits for a thread that has not
/// begun: on a busy machine this thread does all the work. `work` must not throw: noexcept ends the
/// process rather than let helpers use what the caller has left.
template <typename F>
void inParallel(int count, const F& work) noexcept {
  struct Shared {
    std::atomic<int> next = 0;
    QSemaphore done;
  };
  // A helper that begins late finds nothing left, and `work` gone: it may look at this only.
  const auto shared = std::make_shared<Shared>();
  const auto take = [shared, count, &work] {
    for (int i = shared->next++; i < count; i = shared->next++) {
      work(i);
      shared->done.release();
    }
  };
  QThreadPool* const pool = QThreadPool::globalInstance();
  const int helpers = std::min(count, QThread::idealThreadCount()) - 1;
  for (int i = 0; i < helpers && pool->tryStart(take); ++i) {
  }
  take();
  shared->done.acquire(count);
}

}  // namespace highwater::views
