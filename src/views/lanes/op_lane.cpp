#include <QImage>
#include <array>
#include <optional>
#include <unordered_map>

#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

using analysis::OpLook;
using analysis::SpanIndex;
using analysis::VisibleSpan;

/// Of opaque colours, in 1/256: runs are many.
QRgb mixed(QRgb a, QRgb b, double shareOfB) {
  const int part = static_cast<int>(shareOfB * 256 + 0.5);
  const auto mix = [part](int x, int y) { return (x * (256 - part) + y * part + 128) / 256; };
  return qRgb(mix(qRed(a), qRed(b)), mix(qGreen(a), qGreen(b)), mix(qBlue(a), qBlue(b)));
}

/// How much of the ground shows through an op in its phase's colour: waits and fallbacks stand out.
constexpr double kOpDimming = 0.52;

/// Waits and fallbacks in the colour of their kind, any other op in its phase's, dimmed.
QColor opColor(std::uint8_t look, const Theme& theme) {
  if (look & OpLook::kFallback) {
    return theme.vermillion;
  }
  if (look & OpLook::kUnplannedWait) {
    return theme.orange;
  }
  if (look & OpLook::kPlannedWait) {
    return theme.sky;
  }
  const auto phase = static_cast<events::Phase>(look & OpLook::kPhaseMask);
  return QColor(mixed(theme.phase(phase).rgb(), theme.plot.rgb(), kOpDimming));
}

/// The colours of a row of ops: each look's is mixed only once.
class OpColors {
 public:
  explicit OpColors(const Theme& theme) : theme_(theme), plot_(theme.plot.rgb()) {}

  /// The colour of `span`: of a run of short ops the fainter, the less of the time they cover.
  QRgb of(const VisibleSpan& span) {
    std::optional<QRgb>& full = full_[span.category];
    if (!full) {
      full = opColor(span.category, theme_).rgb();
    }
    return span.count == 1 ? *full : mixed(plot_, *full, 0.25 + 0.75 * span.busyShare);
  }

 private:
  const Theme& theme_;
  QRgb plot_;
  std::array<std::optional<QRgb>, 256> full_;  ///< by look
};

/// A span wide enough for a texture or a text.
struct WideSpan {
  QRectF box;
  std::uint32_t row;
  std::uint8_t look;
};

void drawWide(const LaneFrame& f, const WideSpan& span) {
  const bool losesTime = span.look & ~OpLook::kPhaseMask;
  if (span.look & OpLook::kFallback) {
    QColor hatch = f.theme.plot;
    hatch.setAlphaF(0.45f);
    f.painter.fillRect(span.box, hatchBrush(hatch, Qt::transparent, 5));
  }
  const events::OpSpan* op = f.store.ops().at(span.row);
  if (!op || span.box.width() < 22) {
    return;
  }
  const QStringList forms = opForms(f.store.name(op->op()));
  QString text = fitText(f.painter, forms, span.box.width() - 8);
  if (text.isEmpty() && span.box.width() >= 48) {
    text = f.painter.fontMetrics().elidedText(forms.back(), Qt::ElideRight,
                                              static_cast<int>(span.box.width() - 8));
  }
  if (text.isEmpty()) {
    return;
  }
  if (losesTime) {  // a plain ground: text on a hatch cannot be read
    const double textWidth = f.painter.fontMetrics().horizontalAdvance(text);
    f.painter.fillRect(QRectF(span.box.left(), span.box.top(), textWidth + 8, span.box.height()),
                       opColor(span.look, f.theme));
  }
  f.painter.setPen(losesTime ? kOnBright : f.theme.text1);
  f.painter.drawText(span.box.adjusted(4, 0, -2, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
}

/// A row for each of some depths of each thread.
class OpLaneKind final : public LaneKind {
 public:
  OpLaneKind() : LaneKind({Lane::kOps, 18, 16, LaneOutline{0, 0}}) {}

  RowLabel label(const Store& store, const LaneRow& row) const override {
    const auto [thread, depth] = row.ops.key;
    const int below = row.ops.hiddenBelow;
    return {depth == 0 ? tr("Ops, %1").arg(highwater::text(store.threadName(thread)))
                       : tr("depth %1").arg(depth),
            below > 0 ? tr(" +%1").arg(below) : QString(), depth > 0};
  }

  QString labelTip(const Store& store, const LaneRow& row) const override {
    const auto [thread, depth] = row.ops.key;
    QString tip = tr("Ops of thread %1").arg(highwater::text(store.threadName(thread)));
    if (depth > 0) {
      tip += tr(", at depth %1: called by other ops").arg(depth);
    }
    if (row.ops.hiddenBelow > 0) {
      tip += QLatin1Char('\n') +
             tr("%1 deeper not shown: a larger window shows more").arg(row.ops.hiddenBelow);
    }
    return tip;
  }

  /// Fills one line of pixels and repeats it over the row, so that a thousand narrow spans cost a
  /// thousand writes and one drawImage.
  std::function<void()> prepare(const LaneFrame& f, const LaneRow& row) const override {
    const SpanIndex* lane = spans(f.store, row);
    const int width = static_cast<int>(f.right - f.left);
    if (!lane || width <= 0) {
      return [] {};
    }
    std::vector<WideSpan> wide;
    OpColors colors(f.theme);
    const QRectF box(f.left, row.top + 1, width, row.height - 2);
    QImage image(width, std::max(static_cast<int>(box.height()), 1),
                 QImage::Format_ARGB32_Premultiplied);
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(0));
    std::fill(pixels, pixels + width, QRgb{0});
    f.eachVisible(*lane, [&](const VisibleSpan& span, double x, double spanWidth) {
      const QRgb rgb = colors.of(span);
      const double drawn = spanWidth >= 4 ? spanWidth - 1 : spanWidth;  // a gap between neighbours
      const int first = std::clamp(static_cast<int>(x - f.left), 0, width);
      const int last = std::clamp(static_cast<int>(x - f.left + drawn), first, width);
      std::fill(pixels + first, pixels + last, rgb);
      if (span.count == 1 && drawn >= 5) {
        wide.push_back(
            {QRectF(x, box.top(), drawn, box.height()), span.firstPayload, span.category});
      }
    });
    for (int y = 1; y < image.height(); ++y) {
      std::copy(pixels, pixels + width, reinterpret_cast<QRgb*>(image.scanLine(y)));
    }
    return [&f, box, image, wide = std::move(wide)] {
      f.painter.drawImage(box.topLeft(), image);
      f.painter.setFont(textFont(kSmallText));
      for (const WideSpan& span : wide) {
        drawWide(f, span);
      }
    };
  }

  bool exists(const Store& store, std::uint32_t index) const override {
    return store.ops().at(index) != nullptr;
  }
  bool isIn(const LaneRow& row, const Store& store, std::uint32_t index) const override {
    const events::OpSpan& op = *store.ops().at(index);
    return row.ops.key == analysis::OpColumns::LaneKey{op.thread(), op.depth()};
  }
  const SpanIndex* spans(const Store& store, const LaneRow& row) const override {
    const auto lane = store.ops().lanes.find(row.ops.key);
    return lane == store.ops().lanes.end() ? nullptr : &lane->second;
  }
  TimeRange range(const Store& store, std::uint32_t index) const override {
    return rangeOf(*store.ops().at(index));
  }
  std::uint32_t step(const Store& store, std::uint32_t index) const override {
    return store.ops().at(index)->step();
  }
  std::optional<OpRef> op(const Store& store, std::uint32_t index) const override {
    return OpRef{Lane::kOps, highwater::text(store.name(store.ops().at(index)->op())), {}};
  }

  /// Of all threads and depths.
  std::optional<std::uint32_t> nearest(const Store& store, std::int64_t ns,
                                       int direction) const override {
    std::optional<std::uint32_t> best;
    std::int64_t bestNs = 0;
    for (const auto& [key, spans] : store.ops().lanes) {
      const auto found = direction > 0 ? spans.after(ns - 1) : spans.before(ns);
      if (!found) {
        continue;
      }
      const std::int64_t beginNs = spans[*found].beginNs;
      if (!best || (direction > 0 ? beginNs < bestNs : beginNs > bestNs)) {
        best = spans[*found].payload;
        bestNs = beginNs;
      }
    }
    return best;
  }

  /// Always a call of the same op: with `op` of that one, else of the one at `index`.
  std::optional<std::uint32_t> neighbour(const Store& store, std::uint32_t index, int direction,
                                         const std::optional<OpRef>& op,
                                         bool sameThread) const override {
    const analysis::OpColumns& ops = store.ops();
    const events::OpSpan& from = *ops.at(index);
    const QString wanted = op ? op->op : highwater::text(store.name(from.op()));
    std::unordered_map<NameId, bool> isWanted;  // millions of ops have some hundred names
    const auto by = static_cast<std::size_t>(direction);
    for (std::size_t row = index + by; ops.at(row) != nullptr; row += by) {
      const events::OpSpan& each = *ops.at(row);
      if (sameThread && each.thread() != from.thread()) {
        continue;
      }
      const auto [known, isNew] = isWanted.try_emplace(each.op(), false);
      if (isNew) {
        known->second = highwater::text(store.name(each.op())) == wanted;
      }
      if (known->second) {
        return static_cast<std::uint32_t>(row);
      }
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> longest(const Store& store, const OpRef& op,
                                       const TimeRange& range) const override {
    std::unordered_map<std::uint64_t, bool> isWanted;
    std::optional<std::uint32_t> best;
    std::int64_t bestNs = -1;
    for (const auto& [key, spans] : store.ops().lanes) {
      const std::size_t last = spans.firstFrom(range.endNs);
      for (std::size_t i = spans.firstFrom(range.beginNs); i < last; ++i) {
        const events::OpSpan* each = store.ops().at(spans[i].payload);
        if (!each || each->duration_ns() <= bestNs) {
          continue;
        }
        const std::uint64_t id = op.op.isEmpty() ? each->module_id() : each->op();
        const auto [known, isNew] = isWanted.try_emplace(id, false);
        if (isNew) {
          known->second = op.op.isEmpty()
                              ? highwater::text(store.modulePath(each->module_id())) == op.where
                              : highwater::text(store.name(each->op())) == op.op;
        }
        if (known->second) {
          best = spans[i].payload;
          bestNs = each->duration_ns();
        }
      }
    }
    return best;
  }

  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::OpSpan& op = *store.ops().at(index);
    EventText t{Glyph::kSquare,
                theme.phase(op.phase()),
                opForms(store.name(op.op())).back(),
                opDuration(op.duration_ns()),
                {}};
    t.details << inStep(op.step(), op.phase());
    addPlace(t.details, store, op.module_id(), kNoId);
    if (op.shapes() != kNoId) {
      t.details << highwater::text(store.name(op.shapes()));
    }
    if (op.current_bytes() >= 0) {
      t.details
          << tr("%1 after").arg(highwater::text(formatBytes(std::uint64_t(op.current_bytes()))));
    }
    const QString thread = highwater::text(store.threadName(op.thread()));
    t.details << (thread.startsWith(QLatin1String("thread ")) ? thread
                                                              : tr("thread %1").arg(thread));
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::OpSpan& op = *store.ops().at(index);
    std::vector<EventFact> facts = callFacts(store, op, tr("Host time"));
    facts.insert(facts.begin() + 2, {tr("Self time"), opDuration(store.ops().selfNs(op))});
    facts.push_back({tr("Backward"), op.backward() != 0 ? tr("yes") : tr("no")});
    facts.push_back({tr("Shapes"), highwater::text(store.name(op.shapes()))});
    if (op.grown_bytes() > 0) {
      facts.push_back({tr("Allocated"), highwater::text(formatBytes(op.grown_bytes()))});
    }
    if (op.current_bytes() >= 0) {
      facts.push_back({tr("Memory after"), highwater::text(formatBytes(
                                               static_cast<std::uint64_t>(op.current_bytes())))});
    }
    return facts;
  }
};

}  // namespace

const LaneKind& opLane() {
  static const OpLaneKind kLane;
  return kLane;
}

}  // namespace highwater::views
