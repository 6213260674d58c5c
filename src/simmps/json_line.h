#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace highwater::simmps {

/// Appends one JSON object and a line feed to a text; complete when it is destroyed. Keys are
/// written as they are, values escaped. Allocates nothing but the text's own growth.
class JsonLine {
 public:
  JsonLine(std::string& out, std::string_view event);
  ~JsonLine();
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, std::uint64_t value);
  JsonLine& real(std::string_view key, double value);
  JsonLine& boolean(std::string_view key, bool value);
  /// An object as value, until endObject().
  JsonLine& beginObject(std::string_view key);
  JsonLine& endObject();

 private:
  void startMember(std::string_view key);
  void quote(std::string_view value);

  std::string& out_;
};

}  // namespace highwater::simmps
