#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "worker/data_set.h"
#include "worker/tokenizer.h"

namespace highwater::worker {

/// One batch in host memory: `ids` is batch × sequence, row by row.
struct HostBatch {
  std::vector<TokenId> ids;
  std::vector<std::int64_t> labels;
  std::int64_t batchSize = 0;
  std::int64_t sequenceLength = 0;
};

/// Texts as token ids.
struct EncodedTexts {
  std::vector<std::vector<TokenId>> ids;
  std::vector<std::int64_t> labels;

  [[nodiscard]] std::size_t size() const { return ids.size(); }
};
[[nodiscard]] EncodedTexts encodeTexts(const LabelledTexts& texts, const Vocabulary& vocabulary);

/// The given rows, each padded or cut to `sequenceLength`.
[[nodiscard]] HostBatch assembleBatch(const EncodedTexts& texts,
                                      const std::vector<std::size_t>& rows,
                                      std::uint32_t sequenceLength);

/// Endless rows to train on: each epoch has every row once, in an order of its own. A batch may go
/// from one epoch into the next.
class RowOrder {
 public:
  RowOrder(std::size_t rows, std::uint64_t seed);
  [[nodiscard]] std::vector<std::size_t> next(std::size_t count);

 private:
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

}  // namespace highwater::worker
