#include "store/recording_tables.h"

#include <string>

#include "store/format.h"

namespace highwater::store {

Result<void> RecordingTables::create(Database& database) {
  const std::string sql =
      "BEGIN IMMEDIATE; PRAGMA application_id = " + std::to_string(kApplicationId) +
      "; PRAGMA user_version = " + std::to_string(kFormatVersion) + ';' + kCreateBatches + ';' +
      kCreateRun + "; COMMIT";
  return database.execute(sql.c_str());
}

Result<void> RecordingTables::prepare(Database& database) {
  auto batch = database.prepare(
      "INSERT INTO batches (first_ns, last_ns, kinds, frames, raw_bytes, data)"
      " VALUES (?, ?, ?, ?, ?, ?)");
  if (!batch) return batch.error();
  auto run = database.prepare("INSERT OR REPLACE INTO run VALUES (?, ?)");
  if (!run) return run.error();
  batch_ = std::move(*batch);
  run_ = std::move(*run);
  return {};
}

void RecordingTables::release() {
  batch_ = {};
  run_ = {};
}

Result<void> RecordingTables::write(const PendingBatch& batch) {
  const auto packed = packer_.pack(batch.frames);
  if (!packed) return packed.error();
  return batch_.run(batch.firstNs, batch.lastNs, batch.kinds, batch.frameCount,
                    static_cast<std::uint64_t>(batch.frames.size()), *packed);
}

Result<void> RecordingTables::setRunValue(std::string_view key, std::uint64_t value) {
  return run_.run(key, value);
}

}  // namespace highwater::store
