#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace highwater::worker {

/// The number of a token in a vocabulary.
using TokenId = std::int64_t;  // as PyTorch's embedding expects
/// The id that fills up texts that are shorter than their batch.
inline constexpr TokenId kPadToken = 0;
/// The id of every token that is not in the vocabulary.
inline constexpr TokenId kUnknownToken = 1;

/// Splits a text written by a developer into tokens: words in lower case, identifiers split at
/// underscores and capitals ("readCsvFile" becomes read, csv, file), runs of digits, and every
/// other character on its own. Non-ASCII letters count as lower-case letters and are kept.
[[nodiscard]] std::vector<std::string> splitTokens(std::string_view text);

/// Maps tokens to ids.
class Vocabulary {
 public:
  /// The default number of tokens that a vocabulary keeps.
  static constexpr std::size_t kMaxTokens = 20'000;

  /// Makes a vocabulary of the `maxTokens` most frequent tokens of `texts`, ties in alphabetical
  /// order. Ids 0 and 1 are padding and unknown tokens; the most frequent token has id 2.
  [[nodiscard]] static Vocabulary build(const std::vector<std::string>& texts,
                                        std::size_t maxTokens = kMaxTokens);

  /// Returns the ids of all tokens of `text`, kUnknownToken for those not in the vocabulary.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;
  /// The number of ids, with those of padding and unknown tokens.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unordered_map<std::string, TokenId> ids_;
  std::size_t size_ = 2;
};

}  // namespace highwater::worker
