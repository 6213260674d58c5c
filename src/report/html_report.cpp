#include "report/html_report.h"

#include <QByteArray>
#include <string_view>

#include "analysis/account/time_account.h"
#include "analysis/findings/findings.h"
#include "core/names.h"
#include "core/version.h"
#include "report/findings_report.h"
#include "report/report_device.h"
#include "report/report_numbers.h"
#include "report/text_table.h"

namespace highwater::report {
namespace {

using analysis::Finding;
using analysis::Findings;
using analysis::LiveStore;

/// Even if a text of the recording became markup, it could not run or load anything.
constexpr std::string_view kPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'";

/// The colours are those of the window's themes. A page is printed in the light one.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #fff; --panel: #f7f8f9; --line: #dadee3; --text: #1b1f24;
  --quiet: #505a65; --accent: #4a51d6; --warning: #8f6000; --damage: #b84f00 }
.light { display: block }
.dark { display: none }
@media screen and (prefers-color-scheme: dark) {
  .dark { display: block }
  .light { display: none }
  :root { --page: #121417; --panel: #1a1d21; --line: #2a2f35; --text: #e4e7ea; --quiet: #a7afb8;
    --accent: #8b93ff; --warning: #f0b23a; --damage: #f58b4c }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1160px; padding: 32px 20px 48px; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif }
h1, h2, h3, p, li, th, td { overflow-wrap: anywhere }
h1, h3 { text-wrap: balance }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 12px }
h2 { font-size: 20px; line-height: 1.3; margin: 40px 0 12px }
h3 { font-size: 16px; margin: 0 0 8px }
p { max-width: 80ch; margin: 0 0 8px }
a { color: var(--accent) }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 13px }
.device, .damage { display: inline-block; padding: 4px 10px; border: 1px solid var(--line);
  border-radius: 6px }
.simulated { border: 1px dashed var(--warning); color: var(--warning); font-weight: 600 }
.damage { display: block; max-width: none; border-color: var(--damage); color: var(--damage) }
.verdict { font-size: 18px; margin-top: 12px }
.findings { margin: 0; padding: 0; list-style: none; counter-reset: finding }
.findings > li { counter-increment: finding; margin: 0 0 12px; padding: 16px;
  background: var(--panel); border: 1px solid var(--line); border-left: 4px solid var(--accent);
  border-radius: 6px; break-inside: avoid }
.findings h3::before { content: counter(finding) ". " }
.findings p:last-child { margin-bottom: 0 }
.numbers { display: grid; gap: 0 40px; grid-template-columns: minmax(0, 1fr) }
.numbers > section { min-width: 0 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top }
th { font-weight: 400; color: var(--quiet); white-space: nowrap }
td { min-width: 8em }
td:last-child, th:last-child { padding-right: 0 }
.number { text-align: right; white-space: nowrap }
figure { margin: 0 }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px }
figcaption { margin-top: 8px; color: var(--quiet); font-size: 14px }
details { margin-top: 40px }
summary { cursor: pointer; font-weight: 600 }
pre { overflow-x: auto; padding: 16px; background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; line-height: 1.4 }
footer { margin-top: 40px; color: var(--quiet); font-size: 14px }
@media screen and (max-width: 720px) { img { max-width: none; width: 800px } }
@media (min-width: 900px) { .numbers { grid-template-columns: minmax(0, 2fr) minmax(0, 5fr) } }
@media print {
  section { break-inside: avoid }
  h2 { break-after: avoid }
  .numbers { display: block }
  body { max-width: none; padding: 0; font-size: 11pt }
  a[href]::after { content: " (" attr(href) ")"; font-size: 9pt }
  pre { white-space: pre-wrap; font-size: 8pt }
}
)css";

std::string element(const std::string& tag, const std::string& attributes, std::string_view text) {
  return '<' + tag + (attributes.empty() ? "" : ' ' + attributes) + '>' + htmlText(text) + "</" +
         tag + ">\n";
}

/// Title and address of a source, as a link.
std::string sourceLink(std::string_view source) {
  const std::size_t at = source.find("https://");
  if (at == std::string_view::npos) return htmlText(source);
  std::string_view title = source.substr(0, at);
  while (title.ends_with(' ') || title.ends_with(':')) title.remove_suffix(1);
  const std::string address = htmlText(source.substr(at));
  return "<a rel=\"noreferrer\" href=\"" + address + "\">" +
         (title.empty() ? address : htmlText(title)) + "</a>";
}

std::string findingItem(const Finding& finding) {
  std::string item = "<li>\n" + element("h3", "", findingHeadline(finding)) +
                     element("p", "", finding.evidence) + "<p><strong>To do:</strong> " +
                     htmlText(findingAdvice(finding)) + "</p>\n";
  if (!finding.line.empty()) {
    item += "<p><strong>Line:</strong> <code>" + htmlText(finding.line) + "</code></p>\n";
  }
  if (const std::string_view source = findingSource(finding.kind); !source.empty()) {
    item += "<p><strong>See:</strong> " + sourceLink(source) + "</p>\n";
  }
  return item + "</li>\n";
}

std::string findingsPart(const Findings& findings) {
  std::string part;
  if (!findings.verdict.text.empty()) {
    part += element("p", "class=\"verdict\"", findings.verdict.text);
  }
  part += "<h2>Findings</h2>\n";
  if (findings.found.empty()) {
    part += element("p", "", noFindingsText(findings));
  } else {
    part += "<ol class=\"findings\">\n";
    for (const Finding& finding : findings.found) part += findingItem(finding);
    part += "</ol>\n";
  }
  for (const std::string& each : afterFindings(findings)) part += element("p", "", each);
  return part;
}

/// The start of a box for what is wider than a narrow screen: it scrolls, and the page does not.
std::string scrolling(const std::string& name) {
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + htmlText(name) +
         "\">\n";
}

std::string tablePart(const std::string& heading, const std::string& table) {
  return "<section>\n" + element("h2", "", heading) + scrolling(heading) + table +
         "</div>\n</section>\n";
}

/// Both themes are images that the style shows and hides: of a <picture>, browsers print what is on
/// the screen, which may be the dark one.
std::string picturePart(const PagePicture& picture, std::string_view device) {
  const std::string caption = picture.caption + " (" + std::string(device) + ')';
  const auto image = [&](const std::string& theme, const std::string& png) {
    return "<img class=\"" + theme + "\" width=\"" + std::to_string(picture.width) +
           "\" height=\"" + std::to_string(picture.height) + "\" alt=\"" + htmlText(caption) +
           "\" src=\"data:image/png;base64," +
           QByteArray::fromStdString(png).toBase64().toStdString() + "\" />\n";
  };
  return "<section>\n" + element("h2", "", picture.title) + "<figure>\n" +
         scrolling(picture.title) + image("light", picture.light) + image("dark", picture.dark) +
         "</div>\n" + element("figcaption", "aria-hidden=\"true\"", caption) +
         "</figure>\n</section>\n";
}

/// A text of several lines, each of which is escaped.
std::string preformatted(std::string_view text) {
  std::string all = "<pre>";
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    all += htmlText(text.substr(0, end));
    if (end == std::string_view::npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  return all + "</pre>\n";
}

std::string pageHead(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
         "<meta charset=\"utf-8\" />\n" +
         std::string(kPageMark) + kVersion +
         "\" />\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
         "<meta name=\"color-scheme\" content=\"light dark\" />\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         htmlText(kPolicy) + "\" />\n" + element("title", "", title) + "<style>" +
         std::string(kStyle) + "</style>\n</head>\n";
}

/// What one must know before reading a number: the recording, its device, and what is damaged.
std::string headerPart(const std::string& title, const LiveStore& store,
                       const RecordingCondition& condition) {
  std::string header = "<header>\n" + element("h1", "", title);
  if (store.hello()) {
    header += element("p", store.simulated() ? "class=\"device simulated\"" : "class=\"device\"",
                      deviceSentence(store.hello()->device));
  }
  for (const std::string& each : condition.damage) {
    header += element("p", "class=\"damage\"", "Damaged: " + each);
  }
  return header + "</header>\n";
}

}  // namespace

std::string reportHtml(const std::string& title, const LiveStore& store,
                       const analysis::RunSummary& summary, const RecordingCondition& condition,
                       std::span<const PagePicture> pictures, const TextOptions& options) {
  const Findings findings = analysis::findProblems(store);
  const TextTable head =
      headTable(store, summary, findings, condition, analysis::accountTime(store), options.full);
  std::string page = pageHead(titleWithDevice(title, store)) + "<body>\n" +
                     headerPart(title, store, condition) + "<main>\n" + findingsPart(findings) +
                     "<div class=\"numbers\">\n" +
                     tablePart("Numbers", factTable(store, summary).html()) +
                     tablePart("Run", head.html()) + "</div>\n";
  for (const PagePicture& each : pictures) {
    page += picturePart(each, store.hello() ? deviceLabel(store.hello()->device) : "no device");
  }
  return page + "<details>\n<summary>highwater report</summary>\n" +
         preformatted(reportText(title, store, summary, findings, condition, options)) +
         "</details>\n</main>\n" +
         element("footer", "", "Made by Highwater " + std::string(kVersion)) + "</body>\n</html>\n";
}

}  // namespace highwater::report
