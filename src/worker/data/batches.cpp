#include "worker/data/batches.h"

#include <algorithm>
#include <istream>
#include <numeric>
#include <ostream>

#include "worker/data/shuffle.h"

namespace highwater::worker {

EncodedTexts encodeTexts(const LabelledTexts& texts, const Vocabulary& vocabulary) {
  EncodedTexts encoded;
  encoded.labels = texts.labels;
  encoded.ids.reserve(texts.size());
  for (const std::string& text : texts.texts) encoded.ids.push_back(vocabulary.encode(text));
  return encoded;
}

HostBatch assembleBatch(const EncodedTexts& texts, const std::vector<std::size_t>& rows,
                        std::uint32_t sequenceLength) {
  HostBatch batch;
  batch.batchSize = static_cast<std::int64_t>(rows.size());
  batch.sequenceLength = sequenceLength;
  batch.ids.assign(rows.size() * sequenceLength, kPadToken);
  batch.labels.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<TokenId>& ids = texts.ids[rows[i]];
    const std::size_t kept = std::min<std::size_t>(ids.size(), sequenceLength);
    std::copy_n(ids.begin(), kept,
                batch.ids.begin() + static_cast<std::ptrdiff_t>(i * sequenceLength));
    batch.labels.push_back(texts.labels[rows[i]]);
  }
  return batch;
}

RowOrder::RowOrder(std::size_t rows, std::uint64_t seed) : random_(seed), order_(rows), at_(rows) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> RowOrder::next(std::size_t count) {
  std::vector<std::size_t> rows;
  rows.reserve(count);
  while (rows.size() < count && !returned_.empty()) {
    rows.push_back(returned_.front());
    returned_.pop_front();
  }
  while (rows.size() < count && !order_.empty()) {
    if (at_ == order_.size()) {
      shuffle(order_, random_);
      at_ = 0;
    }
    rows.push_back(order_[at_++]);
  }
  return rows;
}

void RowOrder::putBack(const std::vector<std::size_t>& rows) {
  returned_.insert(returned_.begin(), rows.begin(), rows.end());
}

void RowOrder::save(std::ostream& out) const {
  out << random_ << ' ' << order_.size() << ' ' << at_;
  for (const std::size_t row : order_) out << ' ' << row;
  out << ' ' << returned_.size();
  for (const std::size_t row : returned_) out << ' ' << row;
  out << ' ';
}

void RowOrder::load(std::istream& in) {
  RowOrder read = *this;
  std::size_t rows = 0, returned = 0;
  in >> read.random_ >> rows >> read.at_;
  bool fits = in.good() && rows == order_.size() && read.at_ <= rows;
  const auto readRow = [&] {
    std::size_t row = 0;
    in >> row;
    fits = fits && in.good() && row < rows;
    return row;
  };
  for (std::size_t i = 0; fits && i < rows; ++i) read.order_[i] = readRow();
  in >> returned;
  read.returned_.clear();
  for (std::size_t i = 0; fits && i < returned; ++i) read.returned_.push_back(readRow());
  if (fits && in.good()) {
    *this = std::move(read);
  } else {
    in.setstate(std::ios::failbit);
  }
}

}  // namespace highwater::worker
