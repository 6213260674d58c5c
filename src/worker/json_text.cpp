#include "worker/json_text.h"

#include <cmath>
#include <cstdio>

namespace highwater::worker {

std::string jsonString(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      all += '\\';
      all += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      all += escape;
    } else {
      all += c;
    }
  }
  return all + '"';
}

JsonText& JsonText::add(std::string_view name, std::string_view value) {
  return addJson(name, jsonString(value));
}

JsonText& JsonText::add(std::string_view name, bool value) {
  return addJson(name, value ? "true" : "false");
}

JsonText& JsonText::add(std::string_view name, double value) {
  if (!std::isfinite(value)) return addJson(name, "null");
  char number[40];
  std::snprintf(number, sizeof number, "%.6g", value);
  return addJson(name, number);
}

JsonText& JsonText::addJson(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  members_ += jsonString(name);
  members_ += ':';
  members_ += json;
  return *this;
}

std::string jsonArray(const std::vector<std::string>& elements) {
  std::string all;
  for (const std::string& each : elements) {
    if (!all.empty()) all += ',';
    all += each;
  }
  return '[' + all + ']';
}

}  // namespace highwater::worker
