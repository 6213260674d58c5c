#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace highwater {

/// What a caller may want to tell apart; the message is for people.
enum class ErrorCode {
  kFailed,           ///< anything without a code of its own
  kUsage,            ///< an argument, option or environment variable is wrong (exit code 2)
  kNotFound,         ///< a file or program does not exist
  kExists,           ///< would overwrite
  kNoPermission,     ///< may not be read or written
  kMalformed,        ///< bytes that are not what they claim to be
  kVersionMismatch,  ///< another protocol or format version
  kEnded,            ///< the other side is gone
  kOutOfMemory,      ///< the device's or the host's memory is used up
};

/// An error as a value. `message` says what was wrong and what to do, without a full stop.
struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;
};

/// A value or an Error. The compiler refuses to let one be ignored.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Precondition of value() and the operators: ok(). Of error(): !ok().
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

[[nodiscard]] inline Error failure(std::string message) {
  return {ErrorCode::kFailed, std::move(message)};
}
[[nodiscard]] inline Error usageError(std::string message) {
  return {ErrorCode::kUsage, std::move(message)};
}

}  // namespace highwater
