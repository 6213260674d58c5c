#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace highwater {

/// The kinds of errors that callers distinguish. Function comments name them as the reason of a
/// failure.
enum class ErrorCode {
  kFailed,           ///< any other error
  kUsage,            ///< an argument, option or environment variable is wrong (exit code 2)
  kNotFound,         ///< a file or program does not exist
  kExists,           ///< the file exists and must not be overwritten
  kNoPermission,     ///< the file must not be read or written
  kMalformed,        ///< the bytes are not in the expected format
  kVersionMismatch,  ///< unsupported version of the protocol or format
  kEnded,            ///< the other process is gone
  kOutOfMemory,      ///< of the device or the host
};

/// An error as a value. `message` tells the user what went wrong and what to do, without a full
/// stop.
struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;
};

/// The result of a function that may fail: a value, or an Error. It converts from both. Callers
/// must check it before they use the value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; the operators * and -> give it too. Precondition: ok().
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  /// The error. Precondition: !ok().
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// The result of a function that returns nothing but may fail: success, or an Error. It converts
/// from Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  /// The error. Precondition: !ok().
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

/// Makes an Error of code kFailed.
[[nodiscard]] inline Error failure(std::string message) {
  return {ErrorCode::kFailed, std::move(message)};
}
/// Makes an Error of code kUsage.
[[nodiscard]] inline Error usageError(std::string message) {
  return {ErrorCode::kUsage, std::move(message)};
}

}  // namespace highwater
