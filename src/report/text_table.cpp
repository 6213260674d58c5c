#include "report/text_table.h"

#include <algorithm>

namespace highwater::report {
namespace {

bool beginsCodePoint(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::size_t widthOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), beginsCodePoint));
}

/// Where the code point of 0-based rank `rank` begins; the end where there are fewer.
std::size_t placeOf(const std::string& text, std::size_t rank) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (beginsCodePoint(text[at]) && rank-- == 0) break;
  }
  return at;
}

std::string shortened(const std::string& text, std::size_t width) {
  const std::size_t all = widthOf(text);
  if (all <= width) return text;
  const std::size_t front = (width - 1) / 2, back = width - 1 - front;
  return text.substr(0, placeOf(text, front)) + "\u2026" + text.substr(placeOf(text, all - back));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  for (const auto& [column, width] : limits_) {
    if (column < cells.size()) cells[column] = shortened(cells[column], width);
  }
  rows_.push_back(std::move(cells));
}

void TextTable::limit(std::size_t column, std::size_t width) {
  limits_[column] = std::max<std::size_t>(width, 1);
}

std::string TextTable::text(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], widthOf(row[i]));
    }
  }
  std::string all;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string padding(widths[i] - widthOf(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + '\n';
  }
  return all;
}

}  // namespace highwater::report
