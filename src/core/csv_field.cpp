#include "core/csv_field.h"

#include <cstddef>

namespace highwater {
namespace {

/// Removes the digits that a text begins with. Returns whether there were any.
bool removeDigits(std::string_view& text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const std::size_t digits = end == std::string_view::npos ? text.size() : end;
  text.remove_prefix(digits);
  return digits > 0;
}

/// Whether a text that begins with a sign is a number, such as "-3.5e-7".
bool isSignedNumber(std::string_view text) {
  text.remove_prefix(1);
  if (!removeDigits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!removeDigits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (!removeDigits(text)) return false;
  }
  return text.empty();
}

/// https://owasp.org/www-community/attacks/CSV_Injection
bool isFormula(std::string_view text) {
  if (text.empty()) return false;
  if (text[0] == '+' || text[0] == '-') return !isSignedNumber(text);
  return std::string_view("=@\t\r\n").find(text[0]) != std::string_view::npos;
}

}  // namespace

void appendCsvField(std::string& out, std::string_view text) {
  const bool formula = isFormula(text);
  // Some spreadsheets also end a field at a semicolon or a tab, and some readers trim spaces.
  if (!formula && text.find_first_of(",;\t\"\r\n") == std::string_view::npos &&
      !text.starts_with(' ') && !text.ends_with(' ')) {
    out += text;
    return;
  }
  out += formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace highwater
