#include "probe/call_sites/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plain_text.h"
#include "wire/limits.h"
#include "wire/own_descriptor.h"

namespace highwater::probe {
namespace {

/// A file that is open for reading. The program around may close its descriptor, as code does that
/// closes all.
class OpenFile {
 public:
  // O_NONBLOCK: else opening a pipe of that name would wait.
  explicit OpenFile(const std::string& path)
      : fd_(wire::moveToHighNumber(
            ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY))) {}
  ~OpenFile() { fd_.close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const { return fd_.get(); }

 private:
  wire::OwnDescriptor fd_;
};

std::string_view stripped(std::string_view line) {
  constexpr std::string_view kWhite = " \t\r\f\v";
  const std::size_t begin = line.find_first_not_of(kWhite);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kWhite) - begin + 1);
}

}  // namespace

SourceLines::File SourceLines::read(const std::string& path) const {
  if (path.empty() || path.front() != '/') return {};  // the working folder may have changed
  const OpenFile file(path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size > kMostFileBytes || keptBytes_ + size > kMostBytes || found.st_mtime > loadedBy_) {
    return {};
  }
  File result;
  result.content.resize(size);
  std::size_t length = 0;
  while (length < size) {
    const ssize_t n = ::read(file.get(), result.content.data() + length, size - length);
    if (n <= 0) return {};
    length += static_cast<std::size_t>(n);
  }
  if (firstInvalidUtf8(result.content)) return {};
  result.begins.push_back(0);
  for (std::size_t i = 0; i < size; ++i) {
    if (result.content[i] == '\n') result.begins.push_back(i + 1);
  }
  return result;
}

std::string SourceLines::text(const std::string& file, std::uint32_t number) {
  const auto [entry, isNew] = files_.try_emplace(file);
  File& known = entry->second;
  if (isNew) {
    known = read(file);
    keptBytes_ += known.content.size();
  }
  if (number == 0 || number > known.begins.size()) return {};
  std::string_view line = known.content;
  line.remove_prefix(known.begins[number - 1]);
  line = stripped(line.substr(0, line.find('\n')));
  return std::string(cutText(line, wire::kMaxLineTextBytes));
}

}  // namespace highwater::probe
