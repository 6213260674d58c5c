// Events that the validator has taken, into the store, its findings and the report.

#include <QXmlStreamReader>
#include <cstdlib>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "fuzz_target.h"
#include "report/html_report.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/validator.h"

using namespace highwater;

namespace {

void fill(analysis::LiveStore& store, std::span<const std::uint8_t> bytes) {
  wire::FrameReader reader;
  wire::Validator validator(wire::StreamSource::kRecording);
  reader.append(bytes);
  while (true) {
    const auto frame = reader.next();
    if (!frame || !frame->has_value()) return;
    const auto message = wire::decode(**frame);
    if (!message || !validator.check(*message)) return;
    store.take(**frame, *message);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  analysis::LiveStore store;
  fill(store, {data, size});
  if (!store.run()) return 0;
  const analysis::RunSummary summary = analysis::summarize(store);
  if (report::reportText("run", store, summary, {}, {.full = true}).empty()) std::abort();
  if (report::reportJson(store, summary, {}).isEmpty()) std::abort();
  // A name in a recording may be anything, and never becomes markup.
  const std::string page = report::reportHtml("run", store, summary, {}, {}, {.full = true});
  QXmlStreamReader reader(QByteArray::fromStdString(page));
  while (!reader.atEnd()) {
    if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == u"script") {
      std::abort();
    }
  }
  if (reader.hasError()) std::abort();
  return 0;
}
