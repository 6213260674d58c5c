#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace highwater::simmps {

/// Writes one JSON object and a line feed to the end of a string; the destructor completes it.
/// Escapes values, but not keys. Allocates only for the string's growth.
class JsonLine {
 public:
  /// Begins an object whose first member is "event". `out` must outlive this.
  JsonLine(std::string& out, std::string_view event);
  ~JsonLine();
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, std::uint64_t value);
  JsonLine& real(std::string_view key, double value);
  JsonLine& boolean(std::string_view key, bool value);
  /// Begins a nested object, up to endObject().
  JsonLine& beginObject(std::string_view key);
  JsonLine& endObject();

 private:
  void startMember(std::string_view key);
  void quote(std::string_view value);

  std::string& out_;
};

}  // namespace highwater::simmps
