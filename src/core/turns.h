#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace highwater {

/// What a coroutine awaits to end a turn: see Turns.
struct NextTurn : std::suspend_always {};

template <typename T>
class Turns;

namespace detail {

/// The part of a promise that does not depend on the result.
struct TurnsPromise {
  /// At its end a computation goes on with the one that awaits it.
  struct Return {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      TurnsPromise& promise = ended.promise();
      if (!promise.awaiting) return std::noop_coroutine();
      return promise.outermost->innermost = promise.awaiting;
    }
    void await_resume() noexcept {}
  };

  /// Nothing is done before the first turn.
  std::suspend_always initial_suspend() noexcept { return {}; }
  Return final_suspend() noexcept { return {}; }
  /// Errors are values here.
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

  TurnsPromise* outermost = this;
  std::coroutine_handle<> innermost;  ///< of the outermost: where its next turn goes on
  std::coroutine_handle<> awaiting;
};

template <typename T>
struct TurnsResult : TurnsPromise {
  void return_value(T value) { result = std::move(value); }
  std::optional<T> result;
};

template <>
struct TurnsResult<void> : TurnsPromise {
  void return_void() noexcept {}
};

}  // namespace detail

/// A long computation that can be done in turns, so that it does not block the thread of the
/// window, or all at once. It is the return type of a coroutine: `co_await NextTurn{}` ends a turn,
/// `co_await` of other Turns does those, turn by turn, and has their result. The coroutine's
/// arguments that are references must outlive it. Not thread-safe.
template <typename T = void>
class [[nodiscard]] Turns {
 public:
  struct promise_type : detail::TurnsResult<T> {
    Turns get_return_object() {
      const auto handle = std::coroutine_handle<promise_type>::from_promise(*this);
      this->innermost = handle;
      return Turns(handle);
    }
  };

  Turns(Turns&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Turns& operator=(Turns&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Turns() {
    if (handle_) handle_.destroy();
  }

  /// Whether all turns are done.
  [[nodiscard]] bool isDone() const { return handle_.done(); }
  /// Does the next turn; nothing once all are done. Returns whether there is another one.
  bool advance() {
    if (!isDone()) handle_.promise().innermost.resume();
    return !isDone();
  }
  /// Does the turns that are left, and returns the result. To be called once.
  T finish() {
    while (advance()) {
    }
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().result);
  }
  /// Precondition: isDone().
  [[nodiscard]] decltype(auto) result() const {
    if constexpr (!std::is_void_v<T>) return static_cast<const T&>(*handle_.promise().result);
  }

  /// For co_await in a coroutine that returns Turns itself.
  auto operator co_await() const noexcept { return Awaiting{handle_}; }

 private:
  struct Awaiting {
    std::coroutine_handle<promise_type> awaited;

    [[nodiscard]] bool await_ready() const noexcept { return awaited.done(); }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
      detail::TurnsPromise& promise = awaited.promise();
      promise.outermost = awaiting.promise().outermost;
      promise.awaiting = awaiting;
      return promise.outermost->innermost = awaited;
    }
    T await_resume() const {
      if constexpr (!std::is_void_v<T>) return std::move(*awaited.promise().result);
    }
  };

  explicit Turns(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace highwater
