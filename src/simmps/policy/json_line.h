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

  /// Adds a member with a text. Returns this object, as the methods below do.
  JsonLine& text(std::string_view key, std::string_view value);
  /// Adds a member with a whole number.
  JsonLine& number(std::string_view key, std::uint64_t value);
  /// Adds a member with a real number, which must be finite.
  JsonLine& real(std::string_view key, double value);
  /// Adds a member that is true or false.
  JsonLine& boolean(std::string_view key, bool value);
  /// Begins a nested object, up to endObject().
  JsonLine& beginObject(std::string_view key);
  /// Ends the nested object that was begun last.
  JsonLine& endObject();

 private:
  void startMember(std::string_view key);
  void quote(std::string_view value);

  std::string& out_;
};

}  // namespace highwater::simmps
