#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::worker {

/// How many letters must be put in, taken out or replaced to make one word of the other
/// (Levenshtein's distance), in bytes.
[[nodiscard]] std::size_t editDistance(std::string_view a, std::string_view b);

/// Texts as hurried people type them: an augmentation that is done anew for each batch. Each word
/// may get one typing error; what is no known word then is repaired to the nearest known one, by
/// comparing it with all of them, as a first version of such code does.
class NoisyTexts {
 public:
  NoisyTexts(const std::vector<std::string>& texts, std::uint64_t seed);

  /// The tokens of a text, with blanks between.
  [[nodiscard]] std::string next(std::string_view text);
  /// The known word nearest to `word`; the first by the alphabet where there are several.
  /// Precondition: there is a known word.
  [[nodiscard]] const std::string& nearest(std::string_view word) const;

 private:
  void mistype(std::string& word);

  std::vector<std::string> known_;  // sorted
  std::mt19937_64 random_;
};

}  // namespace highwater::worker
