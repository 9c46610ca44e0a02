// A flame graph in one SVG file, for any browser: wide frames cost much; callers are below callees.
//
// - Threads that only wait are not in it, unless all do: they would hide the others. A note says so.
// - Its title and its search are at the top, where they stay; the script makes it as wide as the window.
// - It is self-contained: style and script (flamegraph.js) are inside. Without scripts, as in an
//   <img>, the picture is the same, but static.
// - The threads are the frames next to the root, as in folded stacks; heavier frames are further
//   left.
// - One hue per module, a shade of it per function; Python's functions are yellow, waits grey.
// - XML: names are escaped, and characters that XML does not allow become spaces.
// - Frames narrower than 0.1 pixels, and the frames that they called, are left out and counted. If
//   the file is still too large, wider ones are left out, too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/utf8.h"
#include "exporters/escaped_text.h"
#include "exporters/flamegraph_script.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/stack_nodes.h"
#include "exporters/thread_names.h"
#include "profile/function_kinds.h"
#include "profile/summary.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::CallTree;
using profile::FunctionKind;
using profile::kNone;
using profile::Weight;

constexpr double kWidth = 1200;              // pixels
constexpr unsigned kRow = 17;                // a frame is a pixel less high
constexpr unsigned kHead = 58, kMargin = 8;  // above the deepest frame, below the root
constexpr double kCharacter = 7.3;           // as in the script
constexpr double kNarrowest = 0.1;
constexpr double kPythonHue = 54, kHueOfItsOwn = 15;  // degrees: yellow

struct Box {
  double x, width;
  uint32_t depth;
  uint32_t function;  // kNone: the root or a thread, or not known
  size_t thread;      // position in the view, of a thread's box
  Weight self, total;
};
constexpr size_t kNoThread = SIZE_MAX;
constexpr size_t kRoot = SIZE_MAX - 1;

// The first `count` characters of valid UTF-8.
std::string_view first_characters(std::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size() && count > 0; --count)
    end += std::max<size_t>(utf8_sequence(text.substr(end)), 1);
  return text.substr(0, end);
}

// The part of a name that fits into a box.
std::string label(std::string_view name, double width) {
  std::string text = valid_utf8(name);
  const auto fits = static_cast<size_t>(std::max(0.0, (width - 4) / kCharacter));
  if (first_characters(text, fits).size() == text.size()) return text;
  return fits < 3 ? "" : std::string(first_characters(text, fits - 2)) + "..";
}

std::string amount(const profile::Unit& unit, uint64_t weight) {
  if (!unit.is_time()) return unit.amount(weight);
  const double value = in_seconds(weight);
  return value >= 1 ? fmt::format("{:.2f} s", value) : fmt::format("{:.3g} ms", value * 1e3);
}

// "#rrggbb" of a hue in degrees, saturation and lightness of 0 to 1.
std::string hsl(double hue, double saturation, double lightness) {
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue / 30, 12);
    const double spread = saturation * std::min(lightness, 1 - lightness);
    const double value = lightness - spread * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0);
    return static_cast<int>(std::lround(255 * value));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// A hue for each module, none near that of Python; those of the busiest modules differ most.
std::vector<double> module_hues(const profile::View& view) {
  constexpr double kFirst = 28, kGoldenAngle = 137.508;
  const profile::Profile& profile = *view.profile;
  std::vector<std::pair<uint64_t, size_t>> weights;  // self weight, module
  for (size_t i = 0; i < profile.modules.size(); ++i) weights.emplace_back(0, i);
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    if (sample.stack == kNone) continue;
    const uint32_t module = profile.locations[profile.stacks[sample.stack].location].module;
    if (module != kNone) weights[module].first += sample.weight_ns;
  }
  std::stable_sort(weights.begin(), weights.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> hues(weights.size());
  double hue = kFirst;
  for (const auto& [weight, module] : weights) {
    hues[module] = hue;
    do {
      hue = std::fmod(hue + kGoldenAngle, 360);
    } while (std::abs(hue - kPythonHue) < kHueOfItsOwn);
  }
  return hues;
}

class FlamegraphWriter {
 public:
  explicit FlamegraphWriter(const profile::View& view)
      : view_(view),
        profile_(*view.profile),
        labels_(thread_labels(view)),
        total_(profile::total_weight(view)),
        hues_(module_hues(view)),
        kinds_(profile::function_kinds(profile_)) {
    lay_out();
  }

  // Leaves out frames until the file has at most `max_size` bytes, if possible.
  void fit(uint64_t max_size) {
    constexpr unsigned kOthers = 4000, kAnyHeight = 1000;
    if (max_size == 0) return;
    // Bytes of the frames, the widest first.
    std::vector<std::pair<double, uint64_t>> sizes;
    for (const Box& box : boxes_) sizes.emplace_back(box.width, frame(box, kAnyHeight).size());
    std::sort(sizes.rbegin(), sizes.rend());
    uint64_t size = kFlamegraphScript.size() + kOthers;
    size_t fitting = 0;
    while (fitting < sizes.size() && size + sizes[fitting].second <= max_size) {
      size += sizes[fitting++].second;
    }
    if (fitting == sizes.size()) return;
    // The root is always drawn. Frames as wide as the first one that does not fit are left out,
    // too.
    narrowest_ = std::min(std::nextafter(sizes[fitting].first, kWidth), kWidth);
    left_out_ += std::erase_if(boxes_, [&](const Box& box) { return box.width < narrowest_; });
  }

  std::vector<std::string> notes() const {
    if (left_out_ == 0) return {};
    return {fmt::format("{} are not drawn. --thread, --from and --to show a part in full",
                        left_out_text())};
  }

  void write(OutputFile& file) const {
    uint32_t deepest = 0;
    for (const Box& box : boxes_) deepest = std::max(deepest, box.depth);
    const unsigned height = kHead + (deepest + 1) * kRow + kMargin;
    file.write(head(height));
    for (const Box& box : boxes_) file.write(frame(box, height));
    file.write("<script><![CDATA[\n");
    file.write(kFlamegraphScript);
    file.write("]]></script>\n</svg>\n");
  }

 private:
  void lay_out() {
    add({0, kWidth, 0, kNone, kRoot, {}, total_});
    double x = 0;
    for_each_thread_tree(view_, profile::by_thread_and_stack(view_),
                         [&](size_t thread, const CallTree& tree) {
                           lay_out(tree, thread, x);
                           x += width(tree[0].total);
                         });
  }

  void lay_out(const CallTree& tree, size_t thread, double x) {
    struct Place {
      uint32_t node, depth;
      double x;
    };
    std::vector<Place> to_do = {{0, 1, x}};
    while (!to_do.empty()) {
      const Place place = to_do.back();
      to_do.pop_back();
      const profile::CallNode& node = tree[place.node];
      if (!add({place.x, width(node.total), place.depth, node.function,
                place.node == 0 ? thread : kNoThread, node.self, node.total})) {
        left_out_ += below(tree, place.node);
        continue;
      }
      // The first child is to be the next one, so it is pushed last.
      const size_t first = to_do.size();
      double child_x = place.x;
      for (const uint32_t child : tree.children(place.node)) {
        to_do.push_back({child, place.depth + 1, child_x});
        child_x += width(tree[child].total);
      }
      std::reverse(to_do.begin() + static_cast<ptrdiff_t>(first), to_do.end());
    }
  }

  // The number of nodes below a node.
  static size_t below(const CallTree& tree, uint32_t node) {
    size_t count = 0;
    std::vector<uint32_t> to_do = {node};
    while (!to_do.empty()) {
      const std::span<const uint32_t> children = tree.children(to_do.back());
      to_do.pop_back();
      count += children.size();
      to_do.insert(to_do.end(), children.begin(), children.end());
    }
    return count;
  }

  double width(const Weight& weight) const {
    if (total_.ns == 0) return 0;
    return kWidth * static_cast<double>(weight.ns) / static_cast<double>(total_.ns);
  }

  bool add(const Box& box) {
    if (box.width < narrowest_) {
      ++left_out_;
      return false;
    }
    boxes_.push_back(box);
    return true;
  }

  std::string name(const Box& box) const {
    if (box.thread == kRoot) return "all";
    if (box.thread != kNoThread) return labels_[box.thread];
    return std::string(profile::function_name(profile_, box.function));
  }

  // "libc.so.6, malloc.c:12", or less.
  std::string place(const Box& box) const {
    if (box.function == kNone) return "";
    const profile::Function& function = profile_.functions[box.function];
    std::string text(profile::module_name(profile_, function.module));
    if (function.file != 0) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", profile_.strings[function.file],
                          function.line);
    }
    return text;
  }

  std::string colour(const Box& box) const {
    if (box.thread != kNoThread) return "#c9c3bb";
    if (box.function == kNone) return "#b5b5b5";
    constexpr uint32_t kShades = 7;
    const double shade = 0.02 * (box.function % kShades);
    switch (kinds_[box.function]) {
      case FunctionKind::kWait: return "#b5b5b5";
      case FunctionKind::kPython: return hsl(kPythonHue, 0.9, 0.6 + shade);
      case FunctionKind::kNative: break;
    }
    const uint32_t module = profile_.functions[box.function].module;
    return module == kNone ? "#d8d2c4" : hsl(hues_[module], 0.65, 0.64 + shade);
  }

  std::string frame(const Box& box, unsigned height) const {
    const std::string text = name(box);
    const std::string where = place(box);
    const unsigned y = height - kMargin - (box.depth + 1) * kRow;
    const double share = total_.ns == 0 ? 0 : 100 * box.width / kWidth;
    std::string result = fmt::format(
        "<g class=\"frame\"><title>{}\n{}{}{}, {:.2f} %, {} samples; self {}</title>"
        "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" fill=\"{}\"/>",
        xml_text(text), xml_text(where), where.empty() ? "" : "\n", amount(unit_, box.total.ns),
        share, box.total.samples, amount(unit_, box.self.ns), box.x, y, box.width, kRow - 1,
        colour(box));
    if (const std::string shown = label(text, box.width); !shown.empty()) {
      result +=
          fmt::format("<text x=\"{:.2f}\" y=\"{}\">{}</text>", box.x + 2, y + 12, xml_text(shown));
    }
    return result + "</g>\n";
  }

  std::string left_out_text() const {
    return fmt::format("{} frames narrower than {:.3g} pixels", left_out_, narrowest_);
  }

  std::string head(unsigned height) const {
    const std::string title = fmt::format("{}: {}{}", xml_text(profile_.session.program),
                                          xml_text(amount(unit_, total_.ns)),
                                          view_.is_of_wall_time() ? " of CPU and waiting"
                                          : unit_.is_time()       ? " of CPU"
                                                                  : "");
    const std::string left_out = left_out_ == 0 ? "" : "; " + left_out_text() + " are not drawn";
    return fmt::format(R"svg(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}">
<title>{2}{3}</title>
<style>
svg {{ background: #fffdf8; }}
text {{ font: 12px monospace; fill: #1c1c1c; pointer-events: none; }}
text.title {{ font: 16px sans-serif; }}
#under {{ fill: #fffdf8; }}
.frame {{ cursor: pointer; }}
.frame rect {{ stroke: #fffdf8; stroke-opacity: 0.6; stroke-width: 0.5; }}
.frame:hover rect, .frame.selected rect {{ stroke: #000; stroke-opacity: 1; stroke-width: 1; }}
.caller {{ opacity: 0.6; }}
.searching .frame:not(.match) rect {{ fill-opacity: 0.25; }}
.match rect {{ stroke: #d01c8b; stroke-opacity: 1; stroke-width: 1.5; }}
#reset {{ cursor: pointer; pointer-events: all; text-decoration: underline; }}
#search {{ font: 12px monospace; width: 220px; box-sizing: border-box; }}
#search.wrong {{ color: #c00; }}
@media (prefers-color-scheme: dark) {{
  svg {{ background: #1b1b1d; }}
  #head text {{ fill: #e8e8e8; }}
  #under {{ fill: #1b1b1d; }}
  #search {{ background: #2b2b2f; color: #e8e8e8; border: 1px solid #55555c; }}
  .frame rect {{ stroke: #1b1b1d; filter: brightness(0.9); }}
  .frame:hover rect, .frame.selected rect {{ stroke: #fff; }}
}}
</style>
<g id="head"><rect id="under" width="{0}" height="{8}"/>
<text class="title" id="title" x="{4}" y="22" text-anchor="middle">{2}</text>
<text id="reset" x="8" y="22" role="button" style="display:none">reset zoom</text>
<foreignObject id="searching" x="{5}" y="6" width="224" height="24"><input id="search"
xmlns="http://www.w3.org/1999/xhtml" type="search" placeholder="search: regular expression"
aria-label="search"/></foreignObject>
<text id="matched" x="{6}" y="46" text-anchor="end"></text>
<text id="details" x="8" y="46">{7}</text></g>
)svg",
                       kWidth, height, title, left_out, kWidth / 2, kWidth - 232, kWidth - 8,
                       left_out.empty() ? "" : left_out.substr(2), kHead - 4);
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  std::vector<std::string> labels_;
  Weight total_;
  const profile::Unit unit_{profile_.session, total_.ns};
  std::vector<double> hues_;         // by module
  std::vector<FunctionKind> kinds_;  // by function
  std::vector<Box> boxes_;           // parents before children
  double narrowest_ = kNarrowest;
  size_t left_out_ = 0;
};

}  // namespace

Outcome write_flamegraph(const profile::View& view, const std::string& path, uint64_t max_size) {
  profile::View busy = busy_part(view, profile::summarize(view));
  if (busy.samples.empty()) busy = view;
  FlamegraphWriter writer(busy);
  writer.fit(max_size);
  OutputFile file(path);
  writer.write(file);
  file.commit();
  std::vector<std::string> notes = writer.notes();
  if (const size_t idle = view.threads.size() - busy.threads.size(); idle != 0) {
    notes.push_back(fmt::format("{} thread{} that only wait{} not drawn. --thread shows one", idle,
                                idle == 1 ? "" : "s", idle == 1 ? "s is" : " are"));
  }
  return {notes};
}

}  // namespace sampan::exporters
