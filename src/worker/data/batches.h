#pragma once

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <random>
#include <vector>

#include "worker/data/data_set.h"
#include "worker/data/tokenizer.h"

namespace highwater::worker {

/// A batch of texts in host memory. `ids` holds the token ids, a matrix of batch × sequence in
/// row-major order.
struct HostBatch {
  std::vector<TokenId> ids;
  std::vector<std::int64_t> labels;
  std::int64_t batchSize = 0;
  std::int64_t sequenceLength = 0;
};

/// Texts as token ids, with their labels.
struct EncodedTexts {
  std::vector<std::vector<TokenId>> ids;
  std::vector<std::int64_t> labels;

  [[nodiscard]] std::size_t size() const { return ids.size(); }
};
/// Converts the texts to token ids of the vocabulary; keeps their labels.
[[nodiscard]] EncodedTexts encodeTexts(const LabelledTexts& texts, const Vocabulary& vocabulary);

/// Makes a batch of the given rows of `texts`, each padded with kPadToken or cut to
/// `sequenceLength` tokens.
[[nodiscard]] HostBatch assembleBatch(const EncodedTexts& texts,
                                      const std::vector<std::size_t>& rows,
                                      std::uint32_t sequenceLength);

/// Draws the order of the rows to train on: each epoch has every row once, newly shuffled. A batch
/// may span two epochs. The same seed gives the same order.
class RowOrder {
 public:
  /// Draws from rows 0 to `rows` - 1.
  RowOrder(std::size_t rows, std::uint64_t seed);
  /// Returns the next `count` rows; empty where there are no rows.
  [[nodiscard]] std::vector<std::size_t> next(std::size_t count);
  /// Takes rows back: next() returns them first, in their order.
  void putBack(const std::vector<std::size_t>& rows);

  /// Writes which rows come next, as text.
  void save(std::ostream& out) const;
  /// Goes on where save() was. Sets failbit and changes nothing where the text is another one, or
  /// of another number of rows.
  void load(std::istream& in);

 private:
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
  std::deque<std::size_t> returned_;
};

}  // namespace highwater::worker
