#include "worker/data/tokenizer.h"

#include <algorithm>
#include <utility>

namespace highwater::worker {
namespace {

enum class CharKind { kSpace, kLower, kUpper, kDigit, kOther };

// Not <cctype>: the locale must not change the tokens.
CharKind kindOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == ' ' || (c >= '\t' && c <= '\r')) return CharKind::kSpace;
  if ((c >= 'a' && c <= 'z') || byte >= 0x80) return CharKind::kLower;
  if (c >= 'A' && c <= 'Z') return CharKind::kUpper;
  if (c >= '0' && c <= '9') return CharKind::kDigit;
  return CharKind::kOther;
}

bool isLetter(CharKind kind) {
  return kind == CharKind::kLower || kind == CharKind::kUpper;
}

/// Whether a new word begins at `i`, given that i - 1 and i are both letters or both digits.
bool isWordStart(std::string_view text, std::size_t i) {
  const CharKind before = kindOf(text[i - 1]);
  const CharKind here = kindOf(text[i]);
  if (here != CharKind::kUpper) return false;
  if (before == CharKind::kLower) return true;  // readCsv: read, csv
  // HTTPServer: http, server
  return i + 1 < text.size() && kindOf(text[i + 1]) == CharKind::kLower;
}

}  // namespace

std::vector<std::string> splitTokens(std::string_view text) {
  std::vector<std::string> tokens;
  std::string token;
  const auto finish = [&] {
    if (!token.empty()) tokens.push_back(std::exchange(token, {}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const CharKind kind = kindOf(c);
    if (kind == CharKind::kSpace || c == '_') {
      finish();
      continue;
    }
    if (kind == CharKind::kOther) {
      finish();
      tokens.emplace_back(1, c);
      continue;
    }
    if (!token.empty()) {
      const bool sameKind = isLetter(kindOf(text[i - 1])) == isLetter(kind);
      if (!sameKind || isWordStart(text, i)) finish();
    }
    token += kind == CharKind::kUpper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  finish();
  return tokens;
}

Vocabulary Vocabulary::build(const std::vector<std::string>& texts, std::size_t maxTokens) {
  std::unordered_map<std::string, std::size_t> counts;
  for (const std::string& text : texts) {
    for (std::string& token : splitTokens(text)) ++counts[std::move(token)];
  }
  std::vector<std::pair<std::string, std::size_t>> byCount(counts.begin(), counts.end());
  std::sort(byCount.begin(), byCount.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (byCount.size() > maxTokens) byCount.resize(maxTokens);

  Vocabulary vocabulary;
  for (auto& [token, count] : byCount) {
    vocabulary.ids_.emplace(std::move(token), static_cast<TokenId>(vocabulary.size_++));
  }
  return vocabulary;
}

std::vector<TokenId> Vocabulary::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  for (const std::string& token : splitTokens(text)) {
    const auto found = ids_.find(token);
    ids.push_back(found == ids_.end() ? kUnknownToken : found->second);
  }
  return ids;
}

}  // namespace highwater::worker
