#include "report/text_wrap.h"

#include <algorithm>
#include <array>

namespace highwater::report {
namespace {

/// However narrow the terminal, a wrapped text gets this much room.
constexpr std::size_t kLeastRoom = 20;

bool beginsCodePoint(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

bool isUnit(std::string_view word) {
  constexpr std::array<std::string_view, 9> kUnits = {"ns",  "\u00b5s", "ms",  "s", "B",
                                                      "KiB", "MiB",     "GiB", "%"};
  const std::size_t end = word.find_last_not_of(".,;:)");
  word = word.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

/// The words of a text, a number together with its unit.
std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool afterNumber =
        !words.empty() && words.back().back() >= '0' && words.back().back() <= '9';
    if (afterNumber && isUnit(word)) {
      words.back().append(" ").append(word);
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

/// How much of a word that is too long goes to this line, in bytes.
std::size_t breakOf(std::string_view word, std::size_t room) {
  const std::size_t most = placeOf(word, room);
  const std::size_t slash = word.substr(0, most).rfind('/');
  return slash != std::string_view::npos && slash >= most / 2 ? slash + 1 : most;
}

/// As wrapText(), with less room in the first line, which may stay empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t firstWidth, std::size_t width) {
  if (width == kUnlimited || text.empty()) return {std::string(text)};
  std::vector<std::string> lines(1);
  for (std::string_view word : wordsOf(text)) {
    const bool isShort = lines.size() == 1 && firstWidth < width;
    const std::size_t used = widthOf(lines.back()), room = isShort ? firstWidth : width;
    const bool fits =
        used == 0 ? !isShort || widthOf(word) <= room : used + 1 + widthOf(word) <= room;
    if (!fits) lines.emplace_back();
    if (fits && used > 0) lines.back() += ' ';
    while (widthOf(word) > width) {
      const std::size_t part = breakOf(word, width);
      lines.back() += word.substr(0, part);
      lines.emplace_back();
      word.remove_prefix(part);
    }
    lines.back() += word;
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::size_t placeOf(std::string_view text, std::size_t rank) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (beginsCodePoint(text[at]) && rank-- == 0) break;
  }
  return at;
}

std::size_t widthOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), beginsCodePoint));
}

std::vector<std::string> wrapText(std::string_view text, std::size_t width) {
  return wrapped(text, width, width);
}

std::string hangingText(const std::string& first, std::string_view text, std::size_t hang,
                        std::size_t width) {
  std::size_t room = kUnlimited, firstRoom = kUnlimited;
  if (width != kUnlimited) {
    room = std::max(width, hang + kLeastRoom) - hang;
    const std::size_t used = widthOf(first);
    firstRoom = used <= hang ? room : hang + room - std::min(used, hang + room);
  }
  std::string all = first;
  bool further = false;
  for (const std::string& line : wrapped(text, firstRoom, room)) {
    all += (further ? std::string(hang, ' ') : std::string()) + line + '\n';
    further = true;
  }
  return all;
}

}  // namespace highwater::report
