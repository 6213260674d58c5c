#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::worker {

/// One JSON object as text, member by member. Bytes that are not UTF-8 pass as they are.
class JsonText {
 public:
  JsonText& add(std::string_view name, std::string_view value);
  JsonText& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  JsonText& add(std::string_view name, bool value);
  /// Null where it is not finite.
  JsonText& add(std::string_view name, double value);
  template <std::integral Number>
  JsonText& add(std::string_view name, Number value) {
    return addJson(name, std::to_string(value));
  }
  /// `json` is JSON already.
  JsonText& addJson(std::string_view name, std::string_view json);

  [[nodiscard]] std::string text() const { return '{' + members_ + '}'; }

 private:
  std::string members_;
};

/// `text` as a JSON string.
[[nodiscard]] std::string jsonString(std::string_view text);
/// An array of what is JSON already.
[[nodiscard]] std::string jsonArray(const std::vector<std::string>& elements);

}  // namespace highwater::worker
