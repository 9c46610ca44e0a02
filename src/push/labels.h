// What says in a store where profiles are from: names and values. The names are those of
// OpenTelemetry's semantic conventions ("service.name", "k8s.pod.name") until a store wants others.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "push/percent.h"

namespace sampan::push {

inline constexpr const char* kServiceName = "service.name";

class Labels {
 public:
  // What a name was given first stays: begin with what counts most. An empty value is none.
  void add(std::string_view name, std::string_view value);
  void add(const Labels& others);

  const Pairs& pairs() const { return pairs_; }
  std::string value(std::string_view name) const;  // "" where there is none

 private:
  Pairs pairs_;
};

// "K=V". Throws Error, naming `option`.
void add_label(std::string_view option, std::string_view text, Labels* labels);

// The value of a variable; null: it is not set.
using Environment = std::function<const char*(const char*)>;

// In this order: SAMPAN_LABELS (K=V,K=V), OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, the usual
// variables of Kubernetes' downward API (docs/pushing.md). Throws Error where one makes no sense.
Labels environment_labels(const Environment& environment);

// The id of the container that a process is in: 64 hexadecimal digits. `cgroup`, `mountinfo`: what
// /proc/PID/cgroup and mountinfo say. "" where they name none.
std::string container_id(std::string_view cgroup, std::string_view mountinfo);

}  // namespace sampan::push
