#include "worker/data/noisy_texts.h"

#include <algorithm>
#include <limits>

#include "core/option_values.h"
#include "worker/data/tokenizer.h"

namespace highwater::worker {
namespace {

constexpr std::uint64_t kErrorEvery = 2;  // words
constexpr std::uint64_t kLetters = 26;
constexpr std::size_t kShortestMistyped = 3;

}  // namespace

NoisyTexts::NoisyTexts(const std::vector<std::string>& texts, std::uint64_t seed) : random_(seed) {
  for (const std::string& text : texts) {
    for (std::string& token : splitTokens(text)) known_.push_back(std::move(token));
  }
  std::sort(known_.begin(), known_.end());
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
}

const std::string& NoisyTexts::nearest(std::string_view word) const {
  const std::string* best = &known_.front();
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& each : known_) {
    const std::size_t distance = editDistance(word, each);
    if (distance >= least) continue;
    least = distance;
    best = &each;
  }
  return *best;
}

void NoisyTexts::mistype(std::string& word) {
  const std::size_t at = random_() % word.size();
  const auto letter = static_cast<char>('a' + random_() % kLetters);
  switch (random_() % 3) {
    case 0:
      word.insert(at, 1, letter);
      break;
    case 1:
      word.erase(at, 1);
      break;
    default:
      word[at] = letter;
  }
}

std::string NoisyTexts::next(std::string_view text) {
  std::string noisy;
  for (std::string& word : splitTokens(text)) {
    if (word.size() >= kShortestMistyped && random_() % kErrorEvery == 0) mistype(word);
    const bool isKnown = std::binary_search(known_.begin(), known_.end(), word);
    noisy += (noisy.empty() ? "" : " ") + (isKnown ? word : nearest(word));
  }
  return noisy;
}

}  // namespace highwater::worker
