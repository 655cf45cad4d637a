// SPDX-License-Identifier: Apache-2.0
//
// Writes SVG text: every string that is not markup is escaped here.
#pragma once

#include <string>
#include <string_view>

namespace corehold {

// For element text and attribute values; control characters, which XML cannot hold,
// become "?".
std::string escape_xml(std::string_view text);

// About how wide `text` is in a sans-serif font of that size, on the generous side.
int text_width(std::string_view text, int font_size);

struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

class SvgWriter {
 public:
  // A shape with rounded corners. `style` is a class of the style sheet.
  void rect(const Rect& at, int radius, std::string_view style);
  // A shape by its path data.
  void path(std::string_view data, std::string_view style);
  // Text whose baseline starts (or, where the class anchors it so, ends) at x, y.
  void text(int x, int y, std::string_view style, std::string_view content);
  // The same, with a second part in another class right after it, where there is one.
  void text_with_detail(int x, int y, std::string_view style, std::string_view content,
                        std::string_view detail_style, std::string_view detail);
  // A group with a tooltip; everything up to close_group() belongs to it.
  void open_group(std::string_view tooltip);
  void close_group();
  // Markup as it is: the caller has escaped it.
  void raw(std::string_view markup) { out_ += markup; }
  // What was drawn so far, for raw() of another writer.
  const std::string& fragment() const { return out_; }

  // The whole document: `style` is the style sheet with its definitions.
  std::string document(int width, int height, std::string_view title, std::string_view style) const;

 private:
  std::string out_;
};

}  // namespace corehold
