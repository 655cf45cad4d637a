// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/topology_svg.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "cli/draw/svg_layout.h"
#include "cli/draw/svg_writer.h"
#include "cli/draw/topology_render.h"

namespace corehold {
namespace {

constexpr int kMargin = 24;
constexpr int kTitleFont = 16;
constexpr int kLegendFont = 12;
constexpr int kSwatch = 14;
constexpr int kLegendRow = 24;
constexpr int kLegendGap = 18;      // between columns
constexpr int kLabelWidest = 240;   // of a label in the list of fills
constexpr int kDetailWidest = 400;  // of the detail after it
constexpr int kDetailGap = 8;       // between the two
constexpr int kRemarkRow = 18;
constexpr int kRemarkWidest = 560;  // what a remark may widen the page to

// Class names carry a prefix because an SVG put into a page shares the page's styles.
constexpr std::string_view kStyle = R"(<style>
.ch-page{fill:#f4f6f9;stroke:#d5dbe5}
.ch-socket{fill:#ffffff;stroke:#8d9ab0;stroke-width:1.5}
.ch-node{fill:#eaf1fb;stroke:#9db7dc}
.ch-memory{fill:#f8fafd;stroke:#9db7dc;stroke-dasharray:4 3}
.ch-uncore{fill:#fdf6e7;stroke:#dcc58d}
.ch-core{fill:#ffffff;stroke:#b9c1cf}
.ch-hatch{fill:url(#ch-lines)}
.ch text{font-family:"DejaVu Sans",Verdana,"Segoe UI",Helvetica,Arial,sans-serif}
.ch-title{font-size:16px;font-weight:600;fill:#16233b}
.ch-label{font-size:12px;font-weight:600;fill:#33435e}
.ch-detail{font-size:10px;fill:#66748c;text-anchor:end}
.ch-legend{font-size:12px;fill:#33435e}
.ch-n{font-size:11px;text-anchor:middle}
)";

// Only where needed: a picture of the bare machine has neither.
constexpr std::string_view kOwnersStyle = R"(.ch-quiet{fill:#66748c}
.ch-frame{fill:none;stroke-width:2}
.ch-dashed{fill:none;stroke-width:2;stroke-dasharray:3 3}
)";

constexpr std::string_view kMarksStyle = R"(.ch-mark{fill:#16233b}
.ch-strike{fill:none;stroke:#16233b;stroke-width:1.5;stroke-opacity:0.7}
)";

constexpr std::string_view kHatch =
    "<defs><pattern id=\"ch-lines\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"#9a3412\" stroke-width=\"2\" "
    "stroke-opacity=\"0.4\"/></pattern></defs>\n";

using Mark = CpuPaint::Mark;

bool has_mark(const Paint& paint, Mark mark) {
  return std::any_of(paint.cpus.begin(), paint.cpus.end(),
                     [mark](const auto& cpu) { return cpu.second.mark == mark; });
}

// Fills with cells that have a mark.
std::set<std::size_t> marked_fills(const Paint& paint) {
  std::set<std::size_t> fills;
  for (const auto& [id, cpu] : paint.cpus) {
    if (cpu.mark != Mark::kNone) fills.insert(cpu.fill);
  }
  return fills;
}

// In the cell's ink, as dark or light as its number.
std::string marks_style(const Paint& paint) {
  const std::set<std::size_t> fills = marked_fills(paint);
  if (fills.empty()) return "";
  std::string style(kMarksStyle);
  for (const std::size_t i : fills) {
    const Fill& fill = paint.fills[i];
    fmt::format_to(std::back_inserter(style),
                   ".ch-p{0}{{fill:{1}}}\n.ch-m{0}{{fill:{2}}}\n.ch-s{0}{{stroke:{2}}}\n", i,
                   escape_xml(fill.pale.empty() ? fill.color : fill.pale), escape_xml(fill.ink));
  }
  return style;
}

std::string style_sheet(const Paint& paint) {
  std::string style(kStyle);
  for (std::size_t i = 0; i < paint.fills.size(); ++i) {
    fmt::format_to(std::back_inserter(style), ".ch-f{0}{{fill:{1}}}\n.ch-i{0}{{fill:{2}}}\n", i,
                   escape_xml(paint.fills[i].color), escape_xml(paint.fills[i].ink));
  }
  for (std::size_t i = 0; i < paint.fills.size(); ++i) {
    if (paint.fills[i].frame == Fill::Frame::kNone) continue;
    fmt::format_to(std::back_inserter(style), ".ch-e{}{{stroke:{}}}\n", i,
                   escape_xml(paint.fills[i].ink));
  }
  if (paint.fills.size() > 1) style += kOwnersStyle;
  style += marks_style(paint);
  return style + "</style>\n" + std::string(kHatch);
}

constexpr const char* kEllipsis = "\u2026";

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

// As much of `text` as is about `width` wide, cut between characters.
std::string cut_to(std::string_view text, int width, int font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  std::size_t length = text.size();
  while (length > 0 && text_width(text.substr(0, length), font_size) + font_size > width) --length;
  while (length > 0 && !starts_character(text[length])) --length;
  return std::string(text.substr(0, length)) + kEllipsis;
}

// The same with the middle left out: names differ at their ends.
std::string cut_middle(std::string_view text, int width, int font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  std::size_t tail = text.size();
  while (tail > 0 && text_width(text.substr(tail - 1), font_size) <= width / 2) --tail;
  while (tail < text.size() && !starts_character(text[tail])) ++tail;
  return cut_to(text, width - text_width(text.substr(tail), font_size), font_size) +
         std::string(text.substr(tail));
}

// Broken at spaces into lines of about `width`; a word that is wider is cut.
std::vector<std::string> break_lines(std::string_view text, int width, int font_size) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word(text.substr(at, end - at));
    const std::string longer = line.empty() ? word : fmt::format("{} {}", line, word);
    if (!line.empty() && text_width(longer, font_size) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
    at = end + 1;
  }
  lines.push_back(line);
  for (std::string& one : lines) one = cut_to(one, width, font_size);
  return lines;
}

struct Look {
  std::string_view style;
  int radius;
};

Look look_of(Box::Kind kind) {
  switch (kind) {
    case Box::Kind::kSocket:
      return {.style = "ch-socket", .radius = 10};
    case Box::Kind::kNode:
      return {.style = "ch-node", .radius = 8};
    case Box::Kind::kMemoryNode:
      return {.style = "ch-memory", .radius = 8};
    case Box::Kind::kUncore:
      return {.style = "ch-uncore", .radius = 6};
    default:
      return {.style = "ch-core", .radius = 5};
  }
}

class Picture {
 public:
  Picture(const Topology& topology, const Paint& paint) : topology_(topology), paint_(paint) {}

  std::string draw() {
    const Box machine =
        layout_machine(topology_, kMargin, kMargin + kTitleFont + 14 + subtitle_height());
    const int inner = std::max(
        {machine.at.width, text_width(paint_.title, kTitleFont), 320, text_around_width()});
    const int legend_top = machine.at.y + machine.at.height + 20;
    const int width = inner + 2 * kMargin;
    draw_box(machine);
    int height = draw_legend(legend_top, width - kMargin);
    if (lists_fills()) height = draw_fills(height + 14, width - kMargin);
    height = draw_remarks(height, inner) + kMargin;
    SvgWriter page;
    page.rect({.x = 0, .y = 0, .width = width, .height = height}, 0, "ch-page");
    page.text(kMargin, kMargin + kTitleFont - 2, "ch-title", paint_.title);
    int y = kMargin + kTitleFont;
    for (const std::string& subtitle : paint_.subtitles) {
      y += kRemarkRow;
      page.text(kMargin, y, "ch-legend", subtitle);
    }
    page.raw(body_.fragment());
    return page.document(width, height, paint_.title, style_sheet(paint_));
  }

 private:
  int subtitle_height() const {
    return paint_.subtitles.empty() ? 0
                                    : 4 + kRemarkRow * static_cast<int>(paint_.subtitles.size());
  }

  void draw_box(const Box& box) {
    if (box.kind == Box::Kind::kOneCpu) return draw_cpu(box);
    if (box.kind != Box::Kind::kMachine) {
      const Look look = look_of(box.kind);
      body_.open_group(box.tip);
      body_.rect(box.at, look.radius, look.style);
      draw_label(box);
    }
    for (const Box& child : box.children) draw_box(child);
    if (box.kind != Box::Kind::kMachine) body_.close_group();
  }

  void draw_label(const Box& box) {
    if (box.label.empty()) return;
    const int y = box.at.y + (box.kind == Box::Kind::kMemoryNode ? 22 : kLabelFont + 7);
    body_.text(box.at.x + 10, y, "ch-label", box.label);
    const int both = text_width(box.label, kLabelFont) + text_width(box.detail, kDetailFont) + 28;
    if (!box.detail.empty() && both <= box.at.width) {
      body_.text(box.at.x + box.at.width - 10, y, "ch-detail", box.detail);
    }
  }

  void draw_cpu(const Box& box) {
    const auto found = paint_.cpus.find(box.cpu);
    const CpuPaint& own = found == paint_.cpus.end() ? kFirst : found->second;
    CHECK(own.fill < paint_.fills.size());
    const bool isolated = topology_.isolated().contains(box.cpu);
    body_.open_group(tip_of(box.cpu, own, isolated));
    const bool is_marked = own.mark != Mark::kNone;
    body_.rect(box.at, 3, fmt::format("ch-{}{}", is_marked ? 'p' : 'f', own.fill));
    draw_frame(box.at, own.fill);
    draw_mark(box.at, own.mark, fmt::format(" ch-m{}", own.fill), fmt::format(" ch-s{}", own.fill));
    if (isolated) body_.rect(box.at, 3, "ch-hatch");
    body_.text(box.at.x + box.at.width / 2, box.at.y + 15, fmt::format("ch-n ch-i{}", own.fill),
               box.label);
    body_.close_group();
  }

  // A line inside the edge, where the fill has one.
  void draw_frame(const Rect& at, std::size_t fill) {
    const Fill::Frame frame = paint_.fills[fill].frame;
    if (frame == Fill::Frame::kNone) return;
    const Rect inner{.x = at.x + 2, .y = at.y + 2, .width = at.width - 4, .height = at.height - 4};
    body_.rect(
        inner, 2,
        fmt::format("{} ch-e{}", frame == Fill::Frame::kDashed ? "ch-dashed" : "ch-frame", fill));
  }

  // A corner, or a line from corner to corner. `fill` and `stroke`: further classes.
  void draw_mark(const Rect& at, Mark mark, std::string_view fill, std::string_view stroke) {
    const int right = at.x + at.width;
    if (mark == Mark::kGrown) {
      body_.path(fmt::format("M{} {}h6v6z", right - 6, at.y), fmt::format("ch-mark{}", fill));
    } else if (mark == Mark::kLeaving) {
      body_.path(fmt::format("M{} {}L{} {}", at.x + 1, at.y + at.height - 1, right - 1, at.y + 1),
                 fmt::format("ch-strike{}", stroke));
    }
  }

  std::string tip_of(CpuId cpu, const CpuPaint& own, bool isolated) const {
    const CpuPlace& place = topology_.place(cpu);
    const std::string cache =
        topology_.without_l3().contains(cpu) ? "" : fmt::format(", L3 {}", place.uncore.value);
    return fmt::format("CPU {}: core {}{}, NUMA {}, socket {}{}{}{}", cpu.value, place.core.value,
                       cache, place.node.value, place.socket.value, isolated ? ", isolated" : "",
                       own.note.empty() ? "" : "\n", own.note);
  }

  struct Entry {
    std::string label;
    std::string style;
    bool hatched = false;
    Mark mark = Mark::kNone;
  };

  std::vector<Entry> legend() const {
    std::vector<Entry> entries{{"socket", "ch-socket"}, {"NUMA node", "ch-node"}};
    if (!topology_.memory_nodes().empty())
      entries.push_back({"NUMA node without CPUs", "ch-memory"});
    if (!topology_.l3_caches().empty()) entries.push_back({"L3 cache", "ch-uncore"});
    entries.push_back({"core", "ch-core"});
    if (!lists_fills()) entries.push_back({paint_.fills[0].label, "ch-f0"});
    if (!topology_.isolated().empty()) entries.push_back({"isolated CPU", "ch-f0", true});
    if (has_mark(paint_, Mark::kGrown)) {
      entries.push_back({"grown: beyond what was promised", "ch-core", false, Mark::kGrown});
    }
    if (has_mark(paint_, Mark::kLeaving)) {
      entries.push_back({"leaving: to be given up", "ch-core", false, Mark::kLeaving});
    }
    return entries;
  }

  // Whether the fills have a list of their own, below the kinds of boxes.
  bool lists_fills() const { return paint_.fills.size() > 1; }

  static int legend_width(const Fill& fill) {
    const int label = std::min(text_width(fill.label, kLegendFont), kLabelWidest);
    const int detail = std::min(text_width(fill.detail, kLegendFont), kDetailWidest);
    return kSwatch + 6 + label + (fill.detail.empty() ? 0 : kDetailGap + detail);
  }

  int column_width() const {
    int width = 0;
    for (const Fill& fill : paint_.fills) width = std::max(width, legend_width(fill));
    return width;
  }

  // What subtitles, the list of fills and the remarks want.
  int text_around_width() const {
    int width = lists_fills() ? column_width() : 0;
    for (const std::string& remark : paint_.remarks) {
      width = std::max(width, std::min(text_width(remark, kLegendFont), kRemarkWidest));
    }
    for (const std::string& subtitle : paint_.subtitles) {
      width = std::max(width, text_width(subtitle, kLegendFont));
    }
    return width;
  }

  void draw_fill(int x, int y, std::size_t index) {
    const Fill& fill = paint_.fills[index];
    const Rect swatch{.x = x, .y = y, .width = kSwatch, .height = kSwatch};
    const std::string label = cut_middle(fill.label, kLabelWidest, kLegendFont);
    const std::string detail = cut_to(fill.detail, kDetailWidest, kLegendFont);
    body_.open_group(fill.detail.empty() ? fill.label : fill.label + ": " + fill.detail);
    body_.rect(swatch, 3, fmt::format("ch-f{}", index));
    draw_frame(swatch, index);
    body_.text_with_detail(x + kSwatch + 6, y + 11, "ch-legend", label, "ch-quiet", detail);
    body_.close_group();
  }

  // The list of fills, down the columns. Returns where it ends.
  int draw_fills(int top, int right) {
    const int column = column_width() + kLegendGap;
    const int count = static_cast<int>(paint_.fills.size());
    const int columns = std::max(1, (right - kMargin + kLegendGap) / column);
    const int rows = (count + columns - 1) / columns;
    for (int i = 0; i < count; ++i) {
      draw_fill(kMargin + i / rows * column, top + i % rows * kLegendRow,
                static_cast<std::size_t>(i));
    }
    return top + (rows - 1) * kLegendRow + kSwatch;
  }

  int draw_remarks(int top, int width) {
    int y = top + 10;
    for (const std::string& remark : paint_.remarks) {
      body_.open_group(remark);
      for (const std::string& line : break_lines(remark, width, kLegendFont)) {
        y += kRemarkRow;
        body_.text(kMargin, y, "ch-legend", line);
      }
      body_.close_group();
    }
    return paint_.remarks.empty() ? top : y;
  }

  // Returns where it ends.
  int draw_legend(int top, int right) {
    int x = kMargin;
    int y = top;
    for (const Entry& entry : legend()) {
      const int width = kSwatch + 6 + text_width(entry.label, kLegendFont);
      if (x > kMargin && x + width > right) {
        x = kMargin;
        y += kLegendRow;
      }
      const Rect swatch{.x = x, .y = y, .width = kSwatch, .height = kSwatch};
      body_.rect(swatch, 3, entry.style);
      if (entry.hatched) body_.rect(swatch, 3, "ch-hatch");
      draw_mark(swatch, entry.mark, "", "");
      body_.text(x + kSwatch + 6, y + 11, "ch-legend", entry.label);
      x += width + 14;
    }
    return y + kSwatch;
  }

  inline static const CpuPaint kFirst{};

  const Topology& topology_;
  const Paint& paint_;
  SvgWriter body_;
};

}  // namespace

void paint_all(Paint& paint, const CpuSet& cpus, std::size_t fill, const std::string& note) {
  for (const CpuId cpu : cpus) paint.cpus[cpu] = {.fill = fill, .note = note};
}

Paint plain_paint(const Topology& topology) {
  return Paint{.title = summarize(topology), .fills = {{.label = "CPU", .color = "#bcd6f7"}}};
}

std::string render_topology_svg(const Topology& topology, const Paint& paint) {
  CHECK(!paint.fills.empty());
  return Picture(topology, paint).draw();
}

}  // namespace corehold
