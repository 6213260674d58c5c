#include "probe/observer/shape_texts.h"

namespace highwater::probe {

void appendShape(std::string& text, std::span<const std::int64_t> sizes, std::string_view dtype) {
  if (!text.empty()) text += ", ";
  text += '[';
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  text += "] ";
  text += dtype;
}

}  // namespace highwater::probe
