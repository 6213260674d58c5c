#include "simmps/policy/fork_gate.h"

namespace highwater::simmps {

ForkGate::ForkGate(std::chrono::milliseconds patience)
    : patience_(patience),
      fork_(ForkOrder::Jobs, {[this] { close(); }, [this] { open(); }, [this] { openInChild(); }}) {
}

void ForkGate::enter() {
  std::unique_lock lock(mutex_);
  while (closed_) signals_->opened.wait(lock);
  inside_ = std::this_thread::get_id();
}

void ForkGate::leave() {
  const std::lock_guard lock(mutex_);
  inside_ = {};
  if (closed_) signals_->left.notify_one();
}

/// The lock is held from here until the fork is over.
void ForkGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  const bool forksItself = inside_ == std::this_thread::get_id();
  if (!forksItself) {
    signals_->left.wait_for(lock, patience_, [this] { return inside_ == std::thread::id(); });
  }
  lock.release();
}

void ForkGate::open() {
  closed_ = false;
  signals_->opened.notify_one();
  mutex_.unlock();
}

// The thread of the jobs was not forked. What it waits on is leaked: destroying a condition
// variable waits for its waiters.
void ForkGate::openInChild() {
  closed_ = false;
  inside_ = {};
  (void)signals_.release();
  signals_ = std::make_unique<Signals>();
  mutex_.unlock();
}

}  // namespace highwater::simmps
