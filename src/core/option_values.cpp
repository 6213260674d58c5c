#include "core/option_values.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/plain_text.h"

namespace highwater {
namespace {

// A whole file may have been given in place of a name.
constexpr std::size_t kMostShownBytes = 200;

}  // namespace

std::size_t editDistance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), above = before, row = before;
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({changed, above[j + 1] + 1, row[j] + 1});
      const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostShownBytes) return std::string(text);
  return std::string(cutText(text, kMostShownBytes)) + "…";
}

Error refusedValue(std::string_view name, std::string_view text, std::string_view allowed) {
  return usageError(std::string(name) + " is \"" + shortened(text) + "\"; give " +
                    std::string(allowed));
}

std::vector<std::string> commaParts(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    parts.emplace_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

Result<void> checkChoice(std::string_view name, std::string_view text,
                         std::span<const std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return refusedValue(name, text,
                      alternatives(std::vector<std::string>(choices.begin(), choices.end())));
}

std::vector<std::string> nearestWords(std::string_view word, std::span<const std::string> known,
                                      std::size_t most) {
  const std::size_t furthest = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& each : known) {
    const std::size_t longer = std::max(each.size(), word.size());
    if (longer - std::min(each.size(), word.size()) > furthest) continue;
    const std::size_t distance = editDistance(word, each);
    if (distance <= furthest) near.emplace_back(distance, each);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> words;
  for (const auto& [distance, each] : near) {
    // Next to a plain typing error, more distant suggestions only confuse.
    if (words.size() == most || distance > near.front().first + 1) break;
    words.push_back(each);
  }
  return words;
}

std::string alternatives(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace highwater
