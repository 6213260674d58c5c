#include "report/text_table.h"

#include <algorithm>

#include "core/plain_text.h"

namespace highwater::report {
namespace {

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

std::vector<std::size_t> TextTable::columnWidths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], widthOf(row[i]));
    }
  }
  return widths;
}

std::string TextTable::rowText(const std::vector<std::string>& row,
                               const std::vector<std::size_t>& widths, std::size_t indent,
                               std::size_t end) const {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i < row.size() && i < end; ++i) {
    const std::string padding(widths[i] - widthOf(row[i]), ' ');
    if (i > 0) line += "  ";
    line += columns_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
  }
  return line;
}

std::string TextTable::text(std::size_t indent, std::size_t width) const {
  const std::vector<std::size_t> widths = columnWidths();
  const std::size_t columns = columns_.size();
  std::size_t all = indent + 2 * (columns - 1);
  for (const std::size_t each : widths) all += each;
  const bool tooWide = width != kUnlimited && all > width;
  const bool folds = tooWide && foldFrom_ > 0;
  // Wrapped at the last column, which must be a text.
  const bool wraps = tooWide && !folds && columns_.back() == Align::kLeft;
  const std::size_t end = folds ? foldFrom_ : wraps ? columns - 1 : columns;
  std::string lines;
  for (const auto& row : rows_) {
    std::string line = rowText(row, widths, indent, end);
    if (wraps && row.size() == columns && !row.back().empty()) {
      if (end > 0) line += "  ";
      lines += hangingText(line, row.back(), widthOf(line), width);
      continue;
    }
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    std::string below;
    for (std::size_t i = end; i < row.size(); ++i) {
      if (!row[i].empty()) below += (below.empty() ? "" : ", ") + row[i];
    }
    const std::string space(indent + 4, ' ');
    if (!below.empty()) lines += hangingText(space, below, space.size(), width);
  }
  return lines;
}

std::string TextTable::markdown(const std::vector<std::string>& heads) const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string all = "|";
    for (const std::string& cell : cells) all += ' ' + markdownText(cell) + " |";
    return all + '\n';
  };
  std::string all = line(heads) + '|';
  for (const Align align : columns_) all += align == Align::kRight ? " ---: |" : " --- |";
  all += '\n';
  for (std::vector<std::string> row : rows_) {
    row.resize(columns_.size());
    all += line(row);
  }
  return all;
}

std::string TextTable::html() const {
  std::string all = "<table>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows_) {
    all += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string end = i == 0 ? "</th>" : "</td>";
      all += i == 0 ? "<th scope=\"row\"" : "<td";
      if (columns_[i] == Align::kRight) all += " class=\"number\"";
      all += '>' + htmlText(row[i]) + end;
    }
    all += "</tr>\n";
  }
  return all + "</tbody>\n</table>\n";
}

std::string markdownText(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_[]<>|~&#@!$";
  std::string escaped;
  for (const char c : plainText(text)) {
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
    // GitHub makes mentions and links to issues of the text that is left without the backslash.
    if (c == '@' || c == '#') escaped += "\u2060";
  }
  return escaped;
}

std::string htmlText(std::string_view text) {
  std::string escaped;
  for (const char c : plainText(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::size_t opColumn(std::size_t width) {
  constexpr std::size_t kWidest = 44, kLeast = 12, kNumbers = 36;
  return width == kUnlimited ? kWidest
                             : std::clamp(std::max(width, kNumbers) - kNumbers, kLeast, kWidest);
}

std::string section(const std::string& title, const TextTable& table, std::size_t width) {
  if (table.empty()) return {};
  return '\n' + hangingText("", title, 2, width) + table.text(2, width);
}

}  // namespace highwater::report
