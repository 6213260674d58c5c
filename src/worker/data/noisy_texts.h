#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::worker {

/// Augments texts with typing errors, in the deliberately slow way of a first version: each word
/// may get one error, and a word that is then unknown becomes the nearest known one, found by
/// comparing it with all of them. The same seed gives the same texts.
class NoisyTexts {
 public:
  /// Takes the words of `texts` as the known ones.
  NoisyTexts(const std::vector<std::string>& texts, std::uint64_t seed);

  /// Returns the tokens of `text`, with typing errors, separated by spaces.
  [[nodiscard]] std::string next(std::string_view text);
  /// Returns the known word with the smallest edit distance to `word`, the alphabetically first of
  /// several. Precondition: there is a known word.
  [[nodiscard]] const std::string& nearest(std::string_view word) const;

  /// Writes and reads, as text, what the next errors depend on.
  void save(std::ostream& out) const { out << random_ << ' '; }
  void load(std::istream& in) { in >> random_; }

 private:
  void mistype(std::string& word);

  std::vector<std::string> known_;  // sorted
  std::mt19937_64 random_;
};

}  // namespace highwater::worker
