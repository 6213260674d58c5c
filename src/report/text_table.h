#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/text_wrap.h"

namespace highwater::report {

/// Collects rows of text and writes them in aligned columns. Widths are counted in code points.
/// Where the lines would be too long, the last column is wrapped, or the columns that fold go to
/// lines of their own.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// Adds a row of at most as many cells as there are columns.
  void add(std::vector<std::string> cells);
  /// Limits the cells of a column that are added later to `width` code points, at least 1: a longer
  /// one loses its middle.
  void limit(std::size_t column, std::size_t width);
  /// Where the table is too wide, the cells from `column` on stand below their row, with commas
  /// between them. All of them are texts; at least one column stays.
  void foldFrom(std::size_t column) { foldFrom_ = column; }
  /// Adds a row above the others: the heads of the columns.
  void addFirst(std::vector<std::string> cells) { rows_.insert(rows_.begin(), std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  /// One line per row, indented by `indent` spaces, with two spaces between columns; more lines
  /// where one would be longer than `width`.
  [[nodiscard]] std::string text(std::size_t indent = 0, std::size_t width = kUnlimited) const;
  /// The rows under `heads`, one for each column, as a table of GitHub-flavoured Markdown.
  [[nodiscard]] std::string markdown(const std::vector<std::string>& heads) const;
  /// The rows as a table of HTML without heads, whose first column names each row. Cells of columns
  /// to the right have the class "number".
  [[nodiscard]] std::string html() const;

 private:
  [[nodiscard]] std::vector<std::size_t> columnWidths() const;
  /// A row up to the column `end`, not including it.
  [[nodiscard]] std::string rowText(const std::vector<std::string>& row,
                                    const std::vector<std::size_t>& widths, std::size_t indent,
                                    std::size_t end) const;

  std::size_t foldFrom_ = 0;  ///< 0: no column folds
  std::vector<Align> columns_;
  std::map<std::size_t, std::size_t> limits_;  ///< width by column
  std::vector<std::vector<std::string>> rows_;
};

/// Escapes what Markdown, or HTML in it, would take for markup; after @ and # comes a word joiner,
/// so that GitHub mentions nobody. Control characters and line feeds become U+FFFD.
[[nodiscard]] std::string markdownText(std::string_view text);

/// Escapes what HTML and XML would take for markup, in a text and in a quoted attribute. Control
/// characters, line feeds and invalid UTF-8 become U+FFFD.
[[nodiscard]] std::string htmlText(std::string_view text);

/// The room for the names of ops beside their numbers, in lines of `width`.
[[nodiscard]] std::size_t opColumn(std::size_t width);

/// A table under its title, after an empty line; empty for an empty table.
[[nodiscard]] std::string section(const std::string& title, const TextTable& table,
                                  std::size_t width);

}  // namespace highwater::report
