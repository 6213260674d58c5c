#include "analysis/op_label.h"

namespace highwater::analysis {

std::string opLabel(std::string_view op, events::SyncKind kind) {
  std::string label(op);
  if (kind == events::SyncKind::CopyToDevice) label += " to device";
  if (kind == events::SyncKind::CopyToHost) label += " to host";
  return label;
}

}  // namespace highwater::analysis
