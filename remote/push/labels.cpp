#include "remote/push/labels.h"

#include <algorithm>

#include "base/error.h"
#include "base/session.h"
#include "remote/http/client.h"

namespace sampan::push {
namespace {

// Kubernetes does not define names for these variables, but people and charts use them. Outside of
// Kubernetes those without "K8S_" may mean something else.
constexpr const char* kInKubernetes = "KUBERNETES_SERVICE_HOST";
struct Downward {
  const char* variable;
  const char* label;
};
constexpr Downward kDownward[] = {
    {"POD_NAME", vocabulary::kPodName},
    {"K8S_POD_NAME", vocabulary::kPodName},
    {"HOSTNAME", vocabulary::kPodName},
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

constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                          "SLURM_PROCID"};
constexpr const char* kArrayTaskVariable = "SLURM_ARRAY_TASK_ID";
constexpr std::string_view kFromEnvironment = "FROM_ENV";

constexpr size_t kIdLength = 64;

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// The last run of exactly 64 hexadecimal digits.
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

// "": not set, or no number, as where another program uses the name.
std::string number_in(const Environment& environment, const char* variable) {
  const char* const value = environment(variable);
  const std::string_view text = value == nullptr ? "" : value;
  return text.find_first_not_of("0123456789") == text.npos ? std::string(text) : "";
}

// The value of a label that is "FROM_ENV" or "FROM_ENV:NAME".
std::string from_environment(std::string_view option, std::string_view text, std::string_view name,
                             std::string_view source, const Environment& environment) {
  if (source.empty() && name == vocabulary::kRank) {
    std::string rank = job_labels(environment).value(vocabulary::kRank);
    if (rank.empty()) {
      throw Error(
          "{} {}: no launcher of a parallel job set a rank; FROM_ENV:NAME takes another variable",
          option, text);
    }
    return rank;
  }
  if (source.size() < 2 || source.front() != ':') {
    throw Error("{} {}: FROM_ENV needs the name of a variable, such as FROM_ENV:TEAM", option,
                text);
  }
  const std::string variable(source.substr(1));
  const char* const value = environment(variable.c_str());
  if (value == nullptr) throw Error("{} {}: the variable {} is not set", option, text, variable);
  return value;
}

void add_all(const char* variable, const char* text, Labels* labels) {
  if (text == nullptr) return;
  const std::optional<Pairs> pairs = decoded_pairs(text, ',');
  if (!pairs) throw Error("{}: '{}' is not a list K=V,K=V with %2C for a comma", variable, text);
  for (const auto& [name, value] : *pairs) labels->add(name, value);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
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

void add_label(std::string_view option, std::string_view text, const Environment& environment,
               Labels* labels) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) {
    throw Error("{} {}: needs a name and a value, such as team=search", option, text);
  }
  const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
  if (value != kFromEnvironment && !value.starts_with(std::string(kFromEnvironment) + ":")) {
    labels->add(name, value);
    return;
  }
  labels->add(name, from_environment(option, text, name, value.substr(kFromEnvironment.size()),
                                     environment));
}

Labels job_labels(const Environment& environment) {
  Labels labels;
  for (const char* const variable : kRankVariables)
    labels.add(vocabulary::kRank, number_in(environment, variable));
  labels.add(vocabulary::kArrayTask, number_in(environment, kArrayTaskVariable));
  return labels;
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
  labels.add(job_labels(environment));
  return labels;
}

std::string container_id(std::string_view cgroup, std::string_view mountinfo) {
  std::string id = last_id(cgroup);
  if (!id.empty()) return id;
  // In a cgroup namespace the path is "/", but Docker mounts files from the container's directory.
  // Other runtimes mount the directory of the pod.
  constexpr std::string_view kDocker = "/docker/containers/";
  const size_t place = mountinfo.find(kDocker);
  if (place == mountinfo.npos) return "";
  return last_id(mountinfo.substr(place + kDocker.size(), kIdLength));
}

std::string encoded_pairs(const Pairs& pairs) {
  std::string result;
  for (const auto& [name, value] : pairs) {
    if (!result.empty()) result += '&';
    result += http::percent_encoded(name) + '=' + http::percent_encoded(value);
  }
  return result;
}

std::optional<Pairs> decoded_pairs(std::string_view text, char separator) {
  Pairs pairs;
  while (!trimmed(text).empty()) {
    const std::string_view pair = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return std::nullopt;
    const auto name = http::percent_decoded(trimmed(pair.substr(0, equals)));
    const auto value = http::percent_decoded(trimmed(pair.substr(equals + 1)));
    if (!name || name->empty() || !value) return std::nullopt;
    pairs.emplace_back(*name, *value);
  }
  return pairs;
}

}  // namespace sampan::push
