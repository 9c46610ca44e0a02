#include "push/labels.h"

#include <algorithm>

#include "base/error.h"

namespace sampan::push {
namespace {

// Kubernetes gives these no names of its own; people and charts call them so. Without "K8S_" they
// may mean something else elsewhere.
constexpr const char* kInKubernetes = "KUBERNETES_SERVICE_HOST";
struct Downward {
  const char* variable;
  const char* label;
};
constexpr Downward kDownward[] = {
    {"POD_NAME", "k8s.pod.name"},
    {"K8S_POD_NAME", "k8s.pod.name"},
    {"POD_NAMESPACE", "k8s.namespace.name"},
    {"K8S_NAMESPACE_NAME", "k8s.namespace.name"},
    {"POD_UID", "k8s.pod.uid"},
    {"K8S_POD_UID", "k8s.pod.uid"},
    {"POD_IP", "k8s.pod.ip"},
    {"K8S_POD_IP", "k8s.pod.ip"},
    {"NODE_NAME", "k8s.node.name"},
    {"K8S_NODE_NAME", "k8s.node.name"},
    {"CONTAINER_NAME", "k8s.container.name"},
    {"K8S_CONTAINER_NAME", "k8s.container.name"},
};

constexpr size_t kIdLength = 64;

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// The last 64 hexadecimal digits that stand alone.
std::string last_id(std::string_view text) {
  std::string found;
  size_t length = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && is_hexadecimal(text[i])) {
      ++length;
      continue;
    }
    if (length == kIdLength) found = text.substr(i - length, length);
    length = 0;
  }
  return found;
}

void add_all(const char* variable, const char* text, Labels* labels) {
  if (text == nullptr) return;
  const std::optional<Pairs> pairs = decoded_pairs(text, ',');
  if (!pairs) throw Error("{}: '{}' is no list K=V,K=V with %2C for a comma", variable, text);
  for (const auto& [name, value] : *pairs) labels->add(name, value);
}

}  // namespace

void Labels::add(std::string_view name, std::string_view value) {
  if (value.empty() || !this->value(name).empty()) return;
  pairs_.emplace_back(name, value);
}

void Labels::add(const Labels& others) {
  for (const auto& [name, value] : others.pairs_) add(name, value);
}

std::string Labels::value(std::string_view name) const {
  const auto found =
      std::ranges::find_if(pairs_, [&](const auto& pair) { return pair.first == name; });
  return found == pairs_.end() ? "" : found->second;
}

void add_label(std::string_view option, std::string_view text, Labels* labels) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    throw Error("{} {}: give it a name and a value, as team=search", option, text);
  }
  labels->add(text.substr(0, equals), text.substr(equals + 1));
}

Labels environment_labels(const Environment& environment) {
  Labels labels;
  add_all("SAMPAN_LABELS", environment("SAMPAN_LABELS"), &labels);
  const char* const service = environment("OTEL_SERVICE_NAME");
  if (service != nullptr) labels.add(kServiceName, service);
  add_all("OTEL_RESOURCE_ATTRIBUTES", environment("OTEL_RESOURCE_ATTRIBUTES"), &labels);
  const bool in_kubernetes = environment(kInKubernetes) != nullptr;
  for (const Downward& one : kDownward) {
    const bool counts = in_kubernetes || std::string_view(one.variable).starts_with("K8S_");
    const char* const value = counts ? environment(one.variable) : nullptr;
    if (value != nullptr) labels.add(one.label, value);
  }
  return labels;
}

std::string container_id(std::string_view cgroup, std::string_view mountinfo) {
  std::string id = last_id(cgroup);
  if (!id.empty()) return id;
  // In a cgroup namespace the path is "/"; Docker mounts files from the container's directory. Of
  // others, what is mounted is the directory of the pod.
  constexpr std::string_view kDocker = "/docker/containers/";
  const size_t place = mountinfo.find(kDocker);
  if (place == mountinfo.npos) return "";
  return last_id(mountinfo.substr(place + kDocker.size(), kIdLength));
}

}  // namespace sampan::push
