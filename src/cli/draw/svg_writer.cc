// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/svg_writer.h"

#include <iterator>

#include <fmt/format.h>

namespace corehold {

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' && c != '\n' ? '?' : c;
    }
  }
  return out;
}

int text_width(std::string_view text, int font_size) {
  return static_cast<int>(text.size()) * font_size * 64 / 100 + 1;
}

void SvgWriter::rect(const Rect& at, int radius, std::string_view style) {
  fmt::format_to(std::back_inserter(out_),
                 "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>\n",
                 escape_xml(style), at.x, at.y, at.width, at.height, radius);
}

void SvgWriter::path(std::string_view data, std::string_view style) {
  fmt::format_to(std::back_inserter(out_), "<path class=\"{}\" d=\"{}\"/>\n", escape_xml(style),
                 escape_xml(data));
}

void SvgWriter::text(int x, int y, std::string_view style, std::string_view content) {
  fmt::format_to(std::back_inserter(out_), "<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n",
                 escape_xml(style), x, y, escape_xml(content));
}

void SvgWriter::text_with_detail(int x, int y, std::string_view style, std::string_view content,
                                 std::string_view detail_style, std::string_view detail) {
  if (detail.empty()) return text(x, y, style, content);
  fmt::format_to(std::back_inserter(out_),
                 "<text class=\"{}\" x=\"{}\" y=\"{}\">{}<tspan class=\"{}\" dx=\"8\">{}</tspan>"
                 "</text>\n",
                 escape_xml(style), x, y, escape_xml(content), escape_xml(detail_style),
                 escape_xml(detail));
}

void SvgWriter::open_group(std::string_view tooltip) {
  fmt::format_to(std::back_inserter(out_), "<g><title>{}</title>\n", escape_xml(tooltip));
}

void SvgWriter::close_group() { out_ += "</g>\n"; }

std::string SvgWriter::document(int width, int height, std::string_view title,
                                std::string_view style) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" class=\"ch\" role=\"img\">\n<title>{2}</title>\n{3}{4}</svg>\n",
      width, height, escape_xml(title), style, out_);
}

}  // namespace corehold
