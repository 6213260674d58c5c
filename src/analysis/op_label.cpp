#include "analysis/op_label.h"

namespace highwater::analysis {

std::string_view shortOp(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  return op.starts_with(kAten) ? op.substr(kAten.size()) : op;
}

std::string opLabel(std::string_view op, events::SyncKind kind) {
  std::string label(op);
  if (kind == events::SyncKind::CopyToDevice) label += " to device";
  if (kind == events::SyncKind::CopyToHost) label += " to host";
  return label;
}

}  // namespace highwater::analysis
