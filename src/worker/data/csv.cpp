#include "worker/data/csv.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/plain_text.h"

namespace highwater::worker {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 30;

std::size_t lineOf(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  for (const char c : text.substr(0, offset)) line += c == '\n';
  return line;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<std::vector<CsvRow>> parse() {
    while (at_ < text_.size()) {
      CsvRow row;
      row.line = line_;
      if (auto parsed = parseRow(row); !parsed) return parsed.error();
      const bool emptyLine = row.fields.size() == 1 && row.fields[0].empty();
      if (!emptyLine) rows_.push_back(std::move(row));
    }
    return std::move(rows_);
  }

 private:
  Result<void> parseRow(CsvRow& row) {
    while (true) {
      std::string field;
      if (at_ < text_.size() && text_[at_] == '"') {
        if (auto quoted = parseQuoted(field); !quoted) return quoted;
      } else {
        while (at_ < text_.size() && text_[at_] != ',' && !atLineEnd()) {
          if (text_[at_] == '"') return malformed("a quote inside an unquoted field");
          field += text_[at_++];
        }
      }
      row.fields.push_back(std::move(field));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      skipLineEnd();
      return {};
    }
  }

  Result<void> parseQuoted(std::string& field) {
    const std::size_t openedOn = line_;
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        field += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        field += '"';
        ++at_;
      } else if (at_ < text_.size() && text_[at_] != ',' && !atLineEnd()) {
        return malformed("text after a closing quote");
      } else {
        return {};
      }
    }
    line_ = openedOn;
    return malformed("a quote that is never closed");
  }

  [[nodiscard]] bool atLineEnd() const {
    return text_[at_] == '\n' ||
           (text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n'));
  }
  void skipLineEnd() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    ++line_;
  }
  [[nodiscard]] Error malformed(const char* what) const {
    return {ErrorCode::kMalformed,
            std::string(name_) + ", line " + std::to_string(line_) + ": " + what};
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<CsvRow> rows_;
};

}  // namespace

Result<std::vector<CsvRow>> parseCsv(std::string_view text, std::string_view name) {
  const auto wrongByte = [&](std::size_t at, const char* what) {
    return Error{ErrorCode::kMalformed,
                 std::string(name) + ", line " + std::to_string(lineOf(text, at)) + ": " + what};
  };
  if (const auto bad = firstInvalidUtf8(text)) {
    return wrongByte(*bad, "not UTF-8; save the file as UTF-8");
  }
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return wrongByte(nul, "a NUL byte; give a CSV file");
  }
  if (text.find('\r') != std::string_view::npos && text.find('\n') == std::string_view::npos) {
    return wrongByte(text.find('\r'),
                     "lines end with a carriage return alone; save the file with line feeds");
  }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return Parser(text, name).parse();
}

Result<std::vector<CsvRow>> readCsv(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    if (error == std::errc::permission_denied) {
      return Error{ErrorCode::kNoPermission, name + " cannot be read: " + error.message()};
    }
    return Error{ErrorCode::kNotFound, name + " does not exist"};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::kMalformed, name + " is not a file"};
  }
  if (std::filesystem::file_size(path, error) > kMaxFileBytes) {
    return Error{ErrorCode::kMalformed, name + " is larger than 1 GiB"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (file && file.peek() != std::ifstream::traits_type::eof()) content << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    return Error{ErrorCode::kNoPermission,
                 name + " cannot be read: " + std::strerror(errno ? errno : EIO)};
  }
  return parseCsv(content.str(), name);
}

}  // namespace highwater::worker
