#include "store/recording_tables.h"

#include <optional>
#include <string>

#include "core/names.h"
#include "core/units.h"
#include "store/format.h"

namespace highwater::store {

Result<void> RecordingTables::create(Database& database) {
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(kFormatVersion) + ";";
  for (const char* sql : {"BEGIN IMMEDIATE", marks.c_str()}) {
    if (auto done = database.execute(sql); !done) return done;
  }
  for (const TableFormat& table : kTables) {
    if (table.until < kFormatVersion) continue;
    if (auto done = database.execute(table.create); !done) return done;
  }
  return database.execute("COMMIT");
}

Result<void> RecordingTables::prepare(Database& database) {
  const std::pair<Statement*, const char*> statements[] = {
      {&batch_,
       "INSERT INTO batches (first_ns, last_ns, kinds, frames, raw_bytes, data)"
       " VALUES (?, ?, ?, ?, ?, ?)"},
      {&run_, "INSERT OR REPLACE INTO run VALUES (?, ?)"},
      {&step_, "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&deviceSpan_, "UPDATE steps SET device_ms = ? WHERE step = ?"},
      {&marker_, "INSERT INTO markers VALUES (?, ?, ?, ?, ?, ?)"},
      {&fallback_, "INSERT INTO fallbacks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&syncPoint_, "INSERT INTO sync_points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&hostSample_, "INSERT INTO host_samples VALUES (?, ?, ?, ?, ?)"},
      {&phaseMemory_, "INSERT INTO phase_memory VALUES (?, ?, ?, ?, ?)"},
      {&acceptance_, "INSERT OR REPLACE INTO accepted_fallbacks VALUES (?, ?, ?, ?)"},
  };
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = database.prepare(sql);
    if (!prepared) return prepared.error();
    *statement = std::move(*prepared);
  }
  return {};
}

void RecordingTables::release() {
  for (Statement* statement : {&batch_, &run_, &step_, &deviceSpan_, &marker_, &fallback_,
                               &syncPoint_, &hostSample_, &phaseMemory_, &acceptance_}) {
    *statement = Statement();
  }
}

Result<void> RecordingTables::setRunValue(std::string_view key, std::string_view value) {
  return run_.run(key, value);
}

Result<void> RecordingTables::write(const PendingBatch& batch,
                                    std::span<const std::uint8_t> packedFrames) {
  if (auto done = batch_.run(batch.firstNs, batch.lastNs, batch.kinds, batch.frameCount,
                             static_cast<std::uint64_t>(batch.frames.size()), packedFrames);
      !done) {
    return done;
  }
  return writeRows(batch);
}

Result<void> RecordingTables::writeRows(const PendingBatch& batch) {
  definitions_.add(batch.definitions);
  for (const auto& [key, value] : batch.runValues) {
    if (auto done = setRunValue(key, value); !done) return done;
  }
  for (const auto& e : batch.steps) {
    const auto loss = e.loss_read() != 0 ? std::optional<double>(e.loss()) : std::nullopt;
    const auto deviceMs =
        e.device_ns() >= 0 ? std::optional<double>(toMs(e.device_ns())) : std::nullopt;
    if (auto done =
            step_.run(e.step(), toMs(e.begin_ns()), toMs(e.duration_ns()), deviceMs, e.batch_size(),
                      e.sequence_length(), e.tokens(), loss, e.peak_current_bytes(),
                      e.peak_current_exact() != 0, e.peak_driver_bytes());
        !done) {
      return done;
    }
  }
  for (const auto& e : batch.deviceSpans) {
    if (auto done = deviceSpan_.run(toMs(e.device_ns()), e.step()); !done) return done;
  }
  for (const auto& e : batch.phaseMemory) {
    if (auto done = phaseMemory_.run(e.step(), phaseKey(e.phase()), e.peak_current_bytes(),
                                     e.peak_reserved_bytes(), e.current_bytes());
        !done) {
      return done;
    }
  }
  for (const FallbackAcceptance& e : batch.acceptances) {
    if (auto done = acceptance_.run(std::string_view(e.op), e.accepted, std::string_view(e.reason),
                                    e.unixTimeNs);
        !done) {
      return done;
    }
  }
  for (const auto& e : batch.markers) {
    const std::string text = definitions_.markerText(e);
    if (auto done = marker_.run(toMs(e.time_ns()), e.step(), markerKindKey(e.kind()),
                                e.value_before(), e.value_after(), std::string_view(text));
        !done) {
      return done;
    }
  }
  for (const Note& e : batch.notes) {
    if (auto done = marker_.run(toMs(e.timeNs), e.step, markerKindKey(events::MarkerKind::Note), 0.,
                                0., std::string_view(e.text));
        !done) {
      return done;
    }
  }
  for (const auto& e : batch.fallbacks) {
    const std::string op = definitions_.name(e.op());
    const std::string module = definitions_.modulePath(e.module_id());
    const std::string site = definitions_.callSite(e.call_site());
    if (auto done =
            fallback_.run(toMs(e.begin_ns()), toMs(e.duration_ns()), toMs(e.wait_ns()), e.step(),
                          phaseKey(e.phase()), std::string_view(op), std::string_view(module),
                          std::string_view(site), e.bytes_to_cpu(), e.bytes_to_device());
        !done) {
      return done;
    }
  }
  for (const auto& e : batch.syncPoints) {
    const std::string op = definitions_.name(e.op());
    const std::string module = definitions_.modulePath(e.module_id());
    const std::string site = definitions_.callSite(e.call_site());
    if (auto done =
            syncPoint_.run(toMs(e.begin_ns()), toMs(e.duration_ns()), e.step(), phaseKey(e.phase()),
                           syncKindKey(e.kind()), e.deliberate() != 0, std::string_view(op),
                           std::string_view(module), std::string_view(site), e.bytes());
        !done) {
      return done;
    }
  }
  for (const auto& e : batch.hostSamples) {
    const std::string site = definitions_.callSite(e.call_site());
    const std::string text = definitions_.callSiteParts(e.call_site()).text;
    if (auto done = hostSample_.run(toMs(e.time_ns()), e.step(), phaseKey(e.phase()),
                                    std::string_view(site), std::string_view(text));
        !done) {
      return done;
    }
  }
  return {};
}

}  // namespace highwater::store
