#include "worker/data/data_set.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>

#include "core/option_values.h"
#include "core/plain_text.h"
#include "wire/limits.h"
#include "worker/data/csv.h"
#include "worker/data/shuffle.h"
#include "worker/data/tokenizer.h"

namespace highwater::worker {
namespace {

constexpr std::size_t kHeldOutEvery = 5;
constexpr std::size_t kMaxLabels = 1000;
// Longer texts are cut: training uses only as many tokens as the sequence length.
constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxLabelBytes = wire::kMaxNameBytes;

struct Row {
  std::string text;
  std::string label;
  std::size_t line = 0;
};

Error malformed(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  std::string where = path.string();
  if (line > 0) where += ", line " + std::to_string(line);
  return {ErrorCode::kMalformed, where + ": " + what};
}

Result<void> checkRow(const std::filesystem::path& path, std::size_t line, const std::string& text,
                      const std::string& label) {
  if (label.size() > kMaxLabelBytes) {
    return malformed(path, line,
                     "the label has " + std::to_string(label.size()) +
                         " bytes; allowed are at most " + std::to_string(kMaxLabelBytes) +
                         "; is a quote above it not closed?");
  }
  if (splitTokens(text).empty()) return malformed(path, line, "the text is empty");
  if (label.empty()) return malformed(path, line, "the label is empty");
  return {};
}

Result<std::vector<Row>> readRows(const std::filesystem::path& path) {
  auto csv = readCsv(path);
  if (!csv) return std::move(csv).error();
  if (csv->empty()) return malformed(path, 0, "the file is empty; it needs the header text,label");
  const std::vector<std::string>& header = csv->front().fields;
  const auto column = [&header](const char* name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const std::size_t text = column("text");
  const std::size_t label = column("label");
  if (text == header.size() || label == header.size()) {
    std::string found;
    for (const std::string& name : header) found += (found.empty() ? "" : ",") + name;
    return malformed(path, csv->front().line,
                     "the columns are \"" + shortened(found) +
                         "\"; the first line must be the header text,label");
  }
  std::vector<Row> rows;
  for (std::size_t i = 1; i < csv->size(); ++i) {
    CsvRow& row = (*csv)[i];
    if (row.fields.size() != header.size()) {
      return malformed(path, row.line,
                       std::to_string(row.fields.size()) + " fields where the header has " +
                           std::to_string(header.size()) +
                           "; a text with a comma needs quotes around it");
    }
    if (row.fields[text].size() > kMostTextBytes) {
      row.fields[text] = std::string(cutText(row.fields[text], kMostTextBytes));
    }
    if (auto fine = checkRow(path, row.line, row.fields[text], row.fields[label]); !fine) {
      return fine.error();
    }
    rows.push_back({std::move(row.fields[text]), std::move(row.fields[label]), row.line});
  }
  if (rows.empty()) return malformed(path, 0, "no rows after the header");
  return rows;
}

std::int64_t indexOf(const std::vector<std::string>& labels, const std::string& label) {
  return std::lower_bound(labels.begin(), labels.end(), label) - labels.begin();
}

Result<std::vector<std::string>> labelsOf(const std::filesystem::path& path,
                                          const std::vector<Row>& rows) {
  std::set<std::string> labels;
  for (const Row& row : rows) labels.insert(row.label);
  if (labels.size() < 2) {
    return malformed(path, 0,
                     "every row has the label \"" + shortened(*labels.begin()) +
                         "\"; a classifier needs at least two classes");
  }
  if (labels.size() > kMaxLabels) {
    return malformed(
        path, 0,
        std::to_string(labels.size()) + " labels, allowed are " + std::to_string(kMaxLabels));
  }
  return std::vector<std::string>(labels.begin(), labels.end());
}

void add(LabelledTexts& to, Row&& row, std::int64_t label) {
  to.texts.push_back(std::move(row.text));
  to.labels.push_back(label);
}

/// Moves one of kHeldOutEvery rows of each class to data.heldOut, the others to data.train.
Result<void> split(const std::filesystem::path& path, std::vector<Row> rows, std::uint64_t seed,
                   DataSet& data) {
  std::vector<std::vector<std::size_t>> byLabel(data.labelNames.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    byLabel[static_cast<std::size_t>(indexOf(data.labelNames, rows[i].label))].push_back(i);
  }
  std::vector<bool> held(rows.size(), false);
  std::mt19937_64 random(seed);
  for (std::size_t label = 0; label < byLabel.size(); ++label) {
    std::vector<std::size_t>& ofLabel = byLabel[label];
    if (ofLabel.size() < kHeldOutEvery) {
      return malformed(path, 0,
                       "the label \"" + shortened(data.labelNames[label]) + "\" has " +
                           std::to_string(ofLabel.size()) +
                           (ofLabel.size() == 1 ? " row" : " rows") + "; give at least " +
                           std::to_string(kHeldOutEvery) + ": a fifth is held out to evaluate on");
    }
    shuffle(ofLabel, random);
    for (std::size_t k = 0; k < ofLabel.size() / kHeldOutEvery; ++k) held[ofLabel[k]] = true;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t label = indexOf(data.labelNames, rows[i].label);
    add(held[i] ? data.heldOut : data.train, std::move(rows[i]), label);
  }
  return {};
}

}  // namespace

Result<DataSet> loadDataSet(const std::filesystem::path& train,
                            const std::optional<std::filesystem::path>& heldOut,
                            std::uint64_t seed) {
  auto rows = readRows(train);
  if (!rows) return std::move(rows).error();
  auto labels = labelsOf(train, *rows);
  if (!labels) return std::move(labels).error();

  DataSet data;
  data.name = train.filename().string();
  data.labelNames = std::move(*labels);
  if (!heldOut) {
    if (auto done = split(train, std::move(*rows), seed, data); !done) return done.error();
    return data;
  }
  for (Row& row : *rows) {
    const std::int64_t label = indexOf(data.labelNames, row.label);
    add(data.train, std::move(row), label);
  }
  auto others = readRows(*heldOut);
  if (!others) return std::move(others).error();
  for (Row& row : *others) {
    const auto& names = data.labelNames;
    if (!std::binary_search(names.begin(), names.end(), row.label)) {
      return malformed(
          *heldOut, row.line,
          "the label \"" + shortened(row.label) + "\" does not occur in " + train.string());
    }
    const std::int64_t label = indexOf(names, row.label);
    add(data.heldOut, std::move(row), label);
  }
  return data;
}

Result<DataFiles> findSampleData(const std::filesystem::path& programFolder) {
  std::vector<std::filesystem::path> folders;
  if (const char* given = std::getenv("HIGHWATER_DATASETS"); given && *given) {
    folders.emplace_back(given);
  } else {
    folders.push_back(programFolder / ".." / "share" / "highwater" / "datasets");
    folders.emplace_back(HIGHWATER_DATASETS_FOLDER);
  }
  std::string looked;
  for (const auto& folder : folders) {
    DataFiles files{folder / "issue-texts.train.csv", folder / "issue-texts.heldout.csv"};
    std::error_code error;
    if (std::filesystem::exists(files.train, error) &&
        std::filesystem::exists(files.heldOut, error)) {
      return files;
    }
    looked += (looked.empty() ? "" : ", ") + folder.lexically_normal().string();
  }
  return Error{ErrorCode::kNotFound,
               "the sample data set (issue-texts.train.csv and .heldout.csv) was not found in " +
                   looked + "; set HIGHWATER_DATASETS or give --data FILE"};
}

}  // namespace highwater::worker
