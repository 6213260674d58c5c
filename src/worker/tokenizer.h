#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace highwater::worker {

using TokenId = std::int64_t;  // what PyTorch's embedding takes
inline constexpr TokenId kPadToken = 0;
inline constexpr TokenId kUnknownToken = 1;

/// Splits a text as developers write it: words in lower case, identifiers split at underscores and
/// humps ("readCsvFile" is read, csv, file), runs of digits, and each other sign by itself. Letters
/// outside of ASCII belong to words and stay as they are.
[[nodiscard]] std::vector<std::string> splitTokens(std::string_view text);

/// The tokens of the training texts, the most frequent ones where there are too many.
class Vocabulary {
 public:
  static constexpr std::size_t kMaxTokens = 20'000;

  /// <pad> and <unk> first, then by falling frequency; ties by the alphabet.
  [[nodiscard]] static Vocabulary build(const std::vector<std::string>& texts,
                                        std::size_t maxTokens = kMaxTokens);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unordered_map<std::string, TokenId> ids_;
  std::size_t size_ = 2;
};

}  // namespace highwater::worker
