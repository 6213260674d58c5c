#include "simmps/policy/json_line.h"

#include <array>
#include <charconv>

namespace highwater::simmps {

JsonLine::JsonLine(std::string& out, std::string_view event) : out_(out) {
  out_ += '{';
  text("event", event);
}

JsonLine::~JsonLine() {
  out_ += "}\n";
}

void JsonLine::startMember(std::string_view key) {
  if (out_.back() != '{') out_ += ',';
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

void JsonLine::quote(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out_ += '"';
  for (const char each : value) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      out_ += '\\';
      out_ += each;
    } else if (byte < 0x20) {
      out_ += "\\u00";
      out_ += kDigits[byte >> 4];
      out_ += kDigits[byte & 15];
    } else {
      out_ += each;
    }
  }
  out_ += '"';
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  startMember(key);
  quote(value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, std::uint64_t value) {
  startMember(key);
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out_.append(digits.data(), end);
  return *this;
}

JsonLine& JsonLine::real(std::string_view key, double value) {
  startMember(key);
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out_.append(digits.data(), end);
  return *this;
}

JsonLine& JsonLine::boolean(std::string_view key, bool value) {
  startMember(key);
  out_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::beginObject(std::string_view key) {
  startMember(key);
  out_ += '{';
  return *this;
}

JsonLine& JsonLine::endObject() {
  out_ += '}';
  return *this;
}

}  // namespace highwater::simmps
