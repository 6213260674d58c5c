// Draws an SVG in the sizes of a macOS icon and writes them as one .icns file.
// usage: highwater_make_icon SVG ICNS
// The format: the magic "icns" and the file's size, then for each picture a type of four
// characters, the size of the entry with these 8 bytes, and a PNG; numbers are big-endian.
#include <QBuffer>
#include <QFile>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <QtEndian>
#include <cstdio>

namespace {

struct Entry {
  const char* type;
  int pixels;
};
// Those of 16, 32, 128, 256 and 512 points, and the same at twice the resolution.
constexpr Entry kEntries[] = {{"icp4", 16},  {"ic11", 32},  {"icp5", 32},  {"ic12", 64},
                              {"ic07", 128}, {"ic13", 256}, {"ic08", 256}, {"ic14", 512},
                              {"ic09", 512}, {"ic10", 1024}};

QByteArray pngOf(QSvgRenderer& svg, int pixels) {
  QImage image(pixels, pixels, QImage::Format_ARGB32);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  svg.render(&painter);
  painter.end();
  QByteArray png;
  QBuffer buffer(&png);
  return buffer.open(QIODevice::WriteOnly) && image.save(&buffer, "PNG") ? png : QByteArray();
}

QByteArray entryOf(const char* type, const QByteArray& content) {
  QByteArray size(4, 0);
  qToBigEndian(static_cast<quint32>(content.size() + 8), size.data());
  return type + size + content;
}

int complain(const char* what, const QString& file) {
  std::fprintf(stderr, "highwater_make_icon: %s: %s\n", qPrintable(file), what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: highwater_make_icon SVG ICNS\n", stderr);
    return 2;
  }
  const QString from = QFile::decodeName(argv[1]), to = QFile::decodeName(argv[2]);
  QSvgRenderer svg(from);
  if (!svg.isValid()) return complain("this is no SVG", from);
  QByteArray pictures;
  for (const Entry& entry : kEntries) {
    const QByteArray png = pngOf(svg, entry.pixels);
    if (png.isEmpty()) return complain("it cannot be drawn", from);
    pictures += entryOf(entry.type, png);
  }
  QFile file(to);
  const QByteArray icon = entryOf("icns", pictures);
  const bool written = file.open(QIODevice::WriteOnly) && file.write(icon) == icon.size();
  return written ? 0 : complain("it cannot be written", to);
}
