#include "exporters/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text/readable.h"
#include "base/time.h"
#include "exporters/escaped_text.h"
#include "exporters/output_file.h"

namespace sampan::exporters {
namespace {

using profile::Metric;
using profile::MetricPoint;

constexpr size_t kMostLanes = 100;
constexpr double kBar = 4;        // pixels
constexpr double kCharacter = 7;  // at most, of the font's 12 pixels
constexpr unsigned kWidth = 960, kRight = 20, kTop = 56, kBottom = 40;

constexpr const char* kHead =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>
svg {{ background: #fff; font: 12px system-ui, sans-serif; --text: #1c1c1c; --faint: #666; --grid: #ddd;
  --counter: #1f5fa8; --event: #b4540a; }}
@media (prefers-color-scheme: dark) {{
  svg {{ background: #1b1b1f; --text: #eee; --faint: #aaa; --grid: #3a3a40; --counter: #6fa8e8; --event: #e8975a; }} }}
text {{ fill: var(--text); }} .faint {{ fill: var(--faint); }} .end {{ text-anchor: end; }}
.middle {{ text-anchor: middle; }} .name {{ font-weight: 600; }} .grid {{ stroke: var(--grid); }}
.counter {{ fill: none; stroke: var(--counter); stroke-width: 1.2; }} .event {{ fill: var(--event); }}
</style>
)";

struct Box {
  double left, top, width, height;
};

// 1, 2 or 5 times a power of ten, so that a range has about `count` such steps.
double nice_step(double range, double count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1., 2., 5.}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

// The drawing of one metric, and its scale.
class Picture {
 public:
  Picture(const Metric& metric, const TimeLine& time_line, double width)
      : metric_(metric), time_line_(time_line), width_(width) {
    metric.is_counter ? scale_counter() : count_events();
  }

  bool counts() const { return !metric_.is_counter; }  // its values are whole numbers
  double low() const { return low_; }
  double high() const { return high_; }
  // The seconds of a bar of an event.
  double bar_s() const { return in_seconds(kBar / width_ * duration_ns()); }

  // "counter, 12 values, 1 not finite".
  std::string what() const {
    const std::string count = sampan::count(metric_.points.size());
    if (!metric_.is_counter) return fmt::format("event, {} times", count);
    std::string text = fmt::format("counter, {} values", count);
    if (not_finite_ != 0) text += fmt::format(", {} not finite", sampan::count(not_finite_));
    return text;
  }

  void draw(const Box& box, std::string* out) const {
    metric_.is_counter ? draw_counter(box, out) : draw_events(box, out);
  }

 private:
  double duration_ns() const { return static_cast<double>(time_line_.to_ns - time_line_.from_ns); }
  // 0 to width_.
  double x(SessionNs time_ns) const {
    const auto since_ns = static_cast<double>(time_ns.since(time_line_.from_ns));
    return std::min(since_ns / duration_ns(), 1.) * width_;
  }
  double y(double value, const Box& box) const {
    return box.top + box.height * (1 - (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2));
  }

  void scale_counter() {
    low_ = INFINITY;
    high_ = -INFINITY;
    for (const MetricPoint& point : metric_.points) {
      if (!std::isfinite(point.value)) {
        ++not_finite_;
        continue;
      }
      low_ = std::min(low_, point.value);
      high_ = std::max(high_, point.value);
    }
    if (low_ > high_) low_ = high_ = 0;
    // From 0 if that is near, as for a queue's length. A single value is in the middle.
    if (low_ > 0 && low_ < high_ / 2) low_ = 0;
    if (high_ < 0 && high_ > low_ / 2) high_ = 0;
    if (low_ == high_) {
      const double around = std::max(std::abs(low_) / 2, 0.5);
      low_ -= around;
      high_ += around;
    }
  }

  void count_events() {
    bars_.assign(static_cast<size_t>(std::ceil(width_ / kBar)), 0);
    for (const MetricPoint& point : metric_.points) {
      ++bars_[std::min(static_cast<size_t>(x(point.time_ns) / kBar), bars_.size() - 1)];
    }
    high_ = static_cast<double>(*std::max_element(bars_.begin(), bars_.end()));
  }

  void draw_counter(const Box& box, std::string* out) const {
    std::string path;
    bool begun = false;
    for (size_t i = 0; i < metric_.points.size();) {
      const double column = std::floor(x(metric_.points[i].time_ns));
      double first = NAN, low = INFINITY, high = -INFINITY, last = NAN;
      for (; i < metric_.points.size() && std::floor(x(metric_.points[i].time_ns)) == column; ++i) {
        const double value = metric_.points[i].value;
        if (!std::isfinite(value)) continue;
        if (std::isnan(first)) first = value;
        low = std::min(low, value);
        high = std::max(high, value);
        last = value;
      }
      if (std::isnan(first)) continue;
      const double at = box.left + column;
      path += begun ? fmt::format("H{:.0f}V{:.1f}", at, y(first, box))
                    : fmt::format("M{:.0f} {:.1f}", at, y(first, box));
      begun = true;
      if (low < high) {
        path += fmt::format("V{:.1f}V{:.1f}V{:.1f}", y(low, box), y(high, box), y(last, box));
      }
    }
    if (begun) path += fmt::format("H{:.0f}", box.left + box.width);
    *out += fmt::format("<path class=\"counter\" d=\"{}\"/>\n", path);
  }

  void draw_events(const Box& box, std::string* out) const {
    std::string path;
    for (size_t i = 0; i < bars_.size(); ++i) {
      if (bars_[i] == 0) continue;
      // A single event stays visible among bars of thousands.
      const double height = std::max(1., box.height * static_cast<double>(bars_[i]) / high_);
      path += fmt::format("M{:.0f} {:.1f}v{:.1f}h{:.0f}v{:.1f}z",
                          box.left + kBar * static_cast<double>(i), box.top + box.height, -height,
                          kBar - 1, height);
    }
    *out += fmt::format("<path class=\"event\" d=\"{}\"/>\n", path);
  }

  const Metric& metric_;
  const TimeLine& time_line_;
  double width_;
  double low_ = 0, high_ = 1;
  uint64_t not_finite_ = 0;
  std::vector<uint64_t> bars_;  // events in each
};

// Texts of a picture, cut to fit; the tooltip has the whole.
std::string text(double x, double y, const char* style, std::string_view what, double width) {
  const std::string whole = sampan::printable(what);
  const std::string cut = sampan::cut_end(whole, static_cast<size_t>(width / kCharacter));
  std::string title;
  if (cut != whole) title = "<title>" + xml_text(whole) + "</title>";
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}{}</text>\n", x, y, style,
                     title, xml_text(cut));
}

// The axis of time below a box, and its grid lines.
void draw_time(const TimeLine& time_line, const Box& box, std::string* out) {
  const double from = in_seconds(time_line.from_ns);
  const double to = in_seconds(time_line.to_ns);
  const double step = nice_step(to - from, 8);
  const double first = std::ceil(from / step);
  // Rounding may give one line more or less, but never many, even for short times far from 0.
  for (int i = 0; i < 20 && (first + i) * step <= to + step * 1e-6; ++i) {
    const double at = (first + i) * step;
    const double x = box.left + box.width * (at - from) / (to - from);
    *out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", x, box.top,
                        box.height + 4);
    // Multiples of a step are not exact: 0.30000000000000004.
    *out += text(x, box.top + box.height + 17, "middle", fmt::format("{:.6g}", at), 80);
  }
  *out += text(box.left + box.width, box.top + box.height + 33, "faint end",
               "seconds since the start", 300);
}

void draw_values(const Picture& picture, const Box& box, std::string* out) {
  const double low = picture.low(), high = picture.high();
  double step = nice_step(high / 2 - low / 2, 2) * 2;
  if (picture.counts()) step = std::max(step, 1.);
  if (!std::isfinite(step)) return;
  const double first = std::ceil(low / step);
  for (int i = 0; i < 10 && (first + i) * step <= high; ++i) {
    const double value = (first + i) * step;
    const double y = box.top + box.height * (1 - (value - low) / (high - low));
    *out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", box.left - 4, y,
                        box.width + 4);
    *out += text(box.left - 8, y + 4, "end", fmt::format("{:.6g}", value), 80);
  }
}

void write_svg(const std::string& svg, const std::string& path) {
  OutputFile file(path);
  file.write(svg);
  file.write("</svg>\n");
  file.commit();
}

}  // namespace

TimeLine time_line_of(const profile::View& view) {
  TimeLine line{view.from_ns, std::min(view.to_ns, view.profile->duration_ns())};
  const profile::Markers& markers = view.profile->markers;
  if (view.to_ns == UINT64_MAX) {  // a recording that breaks off has no end
    if (!markers.events.empty()) line.to_ns = std::max(line.to_ns, markers.events.back().time_ns);
    if (!markers.counters.empty()) {
      line.to_ns = std::max(line.to_ns, markers.counters.back().time_ns);
    }
  }
  line.to_ns = std::max(line.to_ns, line.from_ns + 1);
  return line;
}

void write_plot(const Metric& metric, const TimeLine& time_line, const std::string& path) {
  constexpr unsigned kLeft = 90, kHeight = 200;
  const Box box{kLeft, kTop, kWidth - kLeft - kRight, kHeight};
  const Picture picture(metric, time_line, box.width);
  std::string svg = fmt::format(kHead, kWidth, kTop + kHeight + kBottom);
  svg += text(16, 20, "name", metric.name, kWidth - 32);
  svg += text(16, 36, "faint",
              picture.what() +
                  (metric.is_counter ? "" : fmt::format("; a bar is {:.3g} s", picture.bar_s())),
              kWidth - 32);
  draw_time(time_line, box, &svg);
  draw_values(picture, box, &svg);
  picture.draw(box, &svg);
  write_svg(svg, path);
}

std::vector<std::string> write_comparison(const std::vector<Metric>& metrics,
                                          const TimeLine& time_line, const std::string& path) {
  constexpr unsigned kLeft = 230, kLane = 60, kGap = 12;
  std::vector<const Metric*> shown;
  for (const Metric& metric : metrics) shown.push_back(&metric);
  if (shown.size() > kMostLanes) {
    std::stable_sort(shown.begin(), shown.end(), [](const Metric* a, const Metric* b) {
      return a->points.size() > b->points.size();
    });
    shown.resize(kMostLanes);
    std::sort(shown.begin(), shown.end(),
              [](const Metric* a, const Metric* b) { return a->name < b->name; });
  }
  const auto lanes = static_cast<unsigned>(shown.size());
  std::string svg = fmt::format(kHead, kWidth, kTop + lanes * kLane + kBottom);
  std::string title = sampan::plural(lanes, "metric");
  if (lanes < metrics.size()) {
    title += fmt::format(" of {}, those with most points", sampan::count(metrics.size()));
  }
  svg += text(16, 20, "name", title, kWidth - 32);
  const double width = kWidth - kLeft - kRight;
  draw_time(time_line, {kLeft, kTop, width, static_cast<double>(lanes * kLane)}, &svg);
  for (unsigned i = 0; i < lanes; ++i) {
    const Box box{kLeft, static_cast<double>(kTop + i * kLane + kGap), width, kLane - kGap};
    const Picture picture(*shown[i], time_line, width);
    svg += text(16, box.top + 12, "name", shown[i]->name, kLeft - 90);
    svg += text(16, box.top + 28, "faint", picture.what(), kLeft - 24);
    svg += text(kLeft - 8, box.top + 10, "faint end", fmt::format("{:.4g}", picture.high()), 70);
    svg += text(kLeft - 8, box.top + box.height, "faint end", fmt::format("{:.4g}", picture.low()),
                70);
    svg += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}h{:.1f}\"/>\n", kLeft,
                       box.top + box.height, width);
    picture.draw(box, &svg);
  }
  write_svg(svg, path);
  if (lanes == metrics.size()) return {};
  return {fmt::format("metrics_comparison.svg has {} metrics, those with most points, of {}", lanes,
                      metrics.size())};
}

}  // namespace sampan::exporters
