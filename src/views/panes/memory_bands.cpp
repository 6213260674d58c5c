#include "views/panes/memory_bands.h"

#include <QImage>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "views/panes/in_parallel.h"

namespace highwater::views {
namespace {

using analysis::MinMax;
using analysis::SeriesPyramid;

constexpr int kHatchSpacing = 7, kDotSpacing = 4;

/// The rows of the samples in each pixel column, from left to right. A column's samples begin where
/// those of the column before end, so each border is searched from the last one on: in a dense
/// series about as far away as the border before it.
class ColumnRows {
 public:
  explicit ColumnRows(const std::vector<std::int64_t>& times) : times_(times) {}

  /// The first row at or after `ns`; no earlier than the last one returned.
  std::size_t from(std::int64_t ns) {
    // Outwards from where it is expected, with growing strides: samples are nearly regular.
    const std::size_t size = times_.size(), expected = std::min(at_ + stride_, size);
    std::size_t low = at_, high = size, reach = stride_ / 64 + 1;
    if (expected < size && times_[expected] < ns) {
      low = expected + 1;
      for (; low + reach < size && times_[low + reach] < ns; reach *= 2) low += reach + 1;
      high = std::min(low + reach, size);
    } else {
      high = expected;
      for (; high > at_ + reach && times_[high - reach] >= ns; reach *= 2) high -= reach;
      low = std::max(high - std::min(reach, high), at_);
    }
    const auto begin = times_.begin();
    const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(low),
                                        begin + static_cast<std::ptrdiff_t>(high), ns);
    const auto row = static_cast<std::size_t>(found - begin);
    stride_ = row - at_;
    at_ = row;
    return row;
  }

 private:
  const std::vector<std::int64_t>& times_;
  std::size_t at_ = 0;
  std::size_t stride_ = 0;
};

/// The extremes of the rows [first, last), or an interpolated value at `ns` if there is none.
/// Precondition: with first == last, there is a row before and one at `first`.
MinMax columnOf(const std::vector<std::int64_t>& times, const SeriesPyramid& series,
                std::size_t first, std::size_t last, std::int64_t ns) {
  if (last > first) {
    return series.minMax(first, last);
  }
  const double span = static_cast<double>(times[first] - times[first - 1]);
  const double share = span > 0 ? static_cast<double>(ns - times[first - 1]) / span : 0;
  const double value = series[first - 1] + (series[first] - series[first - 1]) * share;
  return {value, value};
}

/// The pixels of a brush that repeats every `size` device pixels.
struct Tile {
  int size = 1;
  std::vector<QRgb> pixels;  ///< premultiplied, row by row

  /// Precondition: 0 <= y < size.
  [[nodiscard]] const QRgb* row(int y) const {
    return pixels.data() + static_cast<std::ptrdiff_t>(y) * size;
  }
};

/// `layers` are painted one over the other. `spacing` is the distance, in logical pixels, at which
/// all of them repeat.
Tile makeTile(int spacing, double ratio, const std::vector<QBrush>& layers) {
  // With a ratio such as 1.25, only several spacings are a whole number of device pixels.
  int repeats = 1;
  while (repeats < 8 && std::abs(std::remainder(spacing * repeats * ratio, 1.0)) > 1e-3) {
    ++repeats;
  }
  Tile tile;
  tile.size = std::max(static_cast<int>(std::lround(spacing * repeats * ratio)), 1);
  QImage image(tile.size, tile.size, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(ratio);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  for (const QBrush& brush : layers) {
    painter.fillRect(QRectF(0, 0, spacing * repeats, spacing * repeats), brush);
  }
  painter.end();
  tile.pixels.reserve(static_cast<std::size_t>(tile.size) * static_cast<std::size_t>(tile.size));
  for (int y = 0; y < tile.size; ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
    tile.pixels.insert(tile.pixels.end(), line, line + tile.size);
  }
  return tile;
}

/// The rows of an image, counted from its top, at which the bands begin: an element for each pixel
/// column.
struct BandEdges {
  std::vector<int> hidden, driver, liveMost, liveLeast;

  void reserve(std::size_t columns) {
    for (auto* each : {&hidden, &driver, &liveMost, &liveLeast}) {
      each->reserve(columns);
    }
  }
};

// GCC turns a loop of unknown length into vector instructions only if it is told to.
#if defined(__GNUC__) && !defined(__clang__)
#define HIGHWATER_VECTORIZED __attribute__((optimize("O3")))
#else
#define HIGHWATER_VECTORIZED
#endif

/// A row of pixels from those of the bands, each of `width` pixels.
struct BandRows {
  const QRgb *dots, *cached, *peak;
  QRgb live;
};
HIGHWATER_VECTORIZED void fillRow(QRgb* pixels, int width, int y, const BandEdges& edges,
                                  const BandRows& rows) {
  const int *hidden = edges.hidden.data(), *driver = edges.driver.data();
  const int *most = edges.liveMost.data(), *least = edges.liveLeast.data();
  for (int x = 0; x < width; ++x) {
    QRgb pixel = y >= hidden[x] ? rows.dots[x] : 0;
    pixel = y >= driver[x] ? rows.cached[x] : pixel;
    pixel = y >= most[x] ? rows.peak[x] : pixel;
    pixels[x] = y >= least[x] ? rows.live : pixel;
  }
}
#undef HIGHWATER_VECTORIZED

/// The rows of a tile, each repeated over `width` pixels from device pixel `left` on.
class RepeatedRows {
 public:
  RepeatedRows(const Tile& tile, int left, int width)
      : size_(tile.size), width_(static_cast<std::size_t>(width)) {
    pixels_.reserve(width_ * static_cast<std::size_t>(size_));
    for (int y = 0; y < size_; ++y) {
      int x = left % size_;
      for (int column = 0; column < width; ++column) {
        pixels_.push_back(tile.row(y)[x]);
        x = x + 1 == size_ ? 0 : x + 1;
      }
    }
  }
  /// That of device row `y`.
  [[nodiscard]] const QRgb* row(int y) const {
    return pixels_.data() + static_cast<std::size_t>(y % size_) * width_;
  }

 private:
  int size_;
  std::size_t width_;
  std::vector<QRgb> pixels_;
};

/// The columns that one thread samples at a time.
constexpr int kPartColumns = 128;
/// So many columns ahead their memory is fetched.
constexpr int kAhead = 8;

/// The pixel columns [from, to), of those in which there is memory to draw.
std::vector<MemoryColumn> samplePart(const analysis::LiveStore& store, const TimeScale& scale,
                                     double pixelRatio, int from, int to) {
  const auto& memory = store.memory();
  const auto& system = store.system();
  const auto& times = memory.timesNs;
  ColumnRows memoryRows(times), systemRows(system.timesNs);
  const auto timeOf = [&](int column) { return scale.timeAt(scale.left + column / pixelRatio); };
  std::array<std::size_t, kPartColumns + 1> borders;  // the rows of column i begin at i - from
  for (int i = from; i <= to; ++i) {
    borders[static_cast<std::size_t>(i - from)] = memoryRows.from(timeOf(i));
  }
  std::vector<MemoryColumn> columns;
  columns.reserve(static_cast<std::size_t>(to - from));
  for (int i = from; i < to; ++i) {
    const auto at = static_cast<std::size_t>(i - from);
    if (i + kAhead < to) {
      memory.current.prefetch(borders[at + kAhead + 1]);
      memory.driver.prefetch(borders[at + kAhead + 1]);
    }
    const std::size_t first = borders[at], last = borders[at + 1];
    const std::int64_t begin = timeOf(i);
    // A reading of the system is valid until the next one; there are at most ten per second.
    const std::size_t next = systemRows.from(begin + 1);
    const double footprint =
        next > 0 ? system.footprint[next - 1] : std::numeric_limits<double>::quiet_NaN();
    const bool between = first > 0 && first < times.size();
    if (last > first || between) {
      columns.push_back({scale.left + i / pixelRatio,
                         columnOf(times, memory.current, first, last, begin),
                         columnOf(times, memory.driver, first, last, begin), footprint});
    }
  }
  return columns;
}

}  // namespace

std::vector<MemoryColumn> sampleMemory(const analysis::LiveStore& store, const TimeScale& scale,
                                       double pixelRatio) {
  if (store.memory().timesNs.empty() || scale.width < 1) {
    return {};
  }
  const auto count = static_cast<int>(std::floor(scale.width * pixelRatio));
  const int parts = (count + kPartColumns - 1) / kPartColumns;
  std::vector<std::vector<MemoryColumn>> sampled(static_cast<std::size_t>(parts));
  inParallel(parts, [&](int part) {
    const int first = part * kPartColumns;
    sampled[static_cast<std::size_t>(part)] =
        samplePart(store, scale, pixelRatio, first, std::min(first + kPartColumns, count));
  });
  std::vector<MemoryColumn> columns;
  columns.reserve(static_cast<std::size_t>(count));
  for (const std::vector<MemoryColumn>& part : sampled) {
    columns.insert(columns.end(), part.begin(), part.end());
  }
  return columns;
}

void drawMemoryBands(QPainter& painter, const std::vector<MemoryColumn>& columns,
                     const std::function<double(double)>& yAt, double ceiling, const Theme& theme,
                     bool withHidden) {
  if (columns.empty()) {
    return;
  }
  const double ratio = painter.device()->devicePixelRatioF();
  const int top = static_cast<int>(std::floor(ceiling * ratio));
  const int floor = static_cast<int>(std::lround(yAt(0) * ratio));
  const int width = static_cast<int>(columns.size()), height = floor - top;
  if (height <= 0) {
    return;
  }
  const auto rowOf = [&](double bytes) {
    const double y = std::round(yAt(bytes) * ratio) - top;
    return static_cast<int>(std::clamp(y, 0.0, static_cast<double>(height)));
  };
  BandEdges edges;
  edges.reserve(columns.size());
  int highest = height;
  for (const MemoryColumn& column : columns) {
    const int driver = rowOf(column.driver.max), most = rowOf(column.current.max);
    const bool hidden = withHidden && column.footprint > column.driver.max;
    edges.driver.push_back(driver);
    edges.liveMost.push_back(most);
    edges.liveLeast.push_back(rowOf(column.current.min));
    edges.hidden.push_back(hidden ? rowOf(column.footprint) : driver);
    highest = std::min({highest, edges.hidden.back(), driver, most});
  }
  const int allLive = *std::max_element(edges.liveLeast.begin(), edges.liveLeast.end());

  QColor sky = theme.sky;
  sky.setAlphaF(0.17f);
  QColor line = theme.sky;
  line.setAlphaF(theme.isDark ? 0.30f : 0.45f);
  // The part between minimum and maximum is fainter than what was live all the time.
  QColor peak = theme.blue;
  peak.setAlphaF(0.6f);
  const QBrush hatch = hatchBrush(line, sky, kHatchSpacing);
  const Tile dots = makeTile(kDotSpacing, ratio, {dotBrush(theme.grey, kDotSpacing)});
  const Tile cached = makeTile(kHatchSpacing, ratio, {hatch});
  const Tile peaks = makeTile(kHatchSpacing, ratio, {hatch, peak});
  const QRgb live = theme.blue.rgb(), driverLine = theme.sky.rgb(), hiddenLine = theme.text2.rgb();

  const auto left = static_cast<int>(std::lround(columns.front().x * ratio));
  QImage image(width, height - highest, QImage::Format_ARGB32_Premultiplied);
  const RepeatedRows dotRows(dots, left, width), cachedRows(cached, left, width);
  const RepeatedRows peakRows(peaks, left, width);
  for (int y = highest; y < height; ++y) {
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(y - highest));
    if (y >= allLive) {
      std::fill(pixels, pixels + width, live);
      continue;
    }
    fillRow(pixels, width, y, edges,
            {dotRows.row(top + y), cachedRows.row(top + y), peakRows.row(top + y), live});
  }
  // The upper edges: a line for driver memory, dots for the footprint.
  const int thick = std::max(static_cast<int>(std::lround(ratio)), 1);
  const auto fill = [&](int x, int from, int to, QRgb color) {
    for (int y = std::max(from, highest); y < std::min(to, height); ++y) {
      reinterpret_cast<QRgb*>(image.scanLine(y - highest))[x] = color;
    }
  };
  int before = edges.driver.front();
  for (int x = 0; x < width; ++x) {
    const auto i = static_cast<std::size_t>(x);
    const int driver = edges.driver[i], hidden = edges.hidden[i];
    if (hidden < driver && x / thick % 3 == 0) {
      fill(x, hidden, hidden + thick, hiddenLine);
    }
    fill(x, std::min(driver, before), std::max({driver, before, std::min(driver, before) + thick}),
         driverLine);
    before = driver;
  }
  image.setDevicePixelRatio(ratio);
  painter.drawImage(QPointF(left / ratio, (top + highest) / ratio), image);
}

void MemoryBands::draw(QCPPainter* painter) {
  const QRect rect = keyAxis()->axisRect()->rect();
  painter->save();
  painter->setClipRect(rect, Qt::IntersectClip);
  drawMemoryBands(
      *painter, sampleMemory(*store_, timeScale(), painter->device()->devicePixelRatioF()),
      [this](double bytes) { return valueAxis()->coordToPixel(bytes); },
      valueAxis()->coordToPixel(topBytes_), Theme::of(parentPlot()), withHidden_);
  painter->restore();
}

}  // namespace highwater::views
