// Labels that tell a store where profiles come from, and lists of names and values in general. The
// names of labels are those of OpenTelemetry's semantic conventions ("service.name",
// "k8s.pod.name"), translated for stores with other rules.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sampan::push {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string encoded_pairs(const Pairs& pairs);
// The inverse, split at `separator`; none if the list is malformed. The separator of W3C's baggage
// and OTEL_RESOURCE_ATTRIBUTES is ','. Names are not empty; white space around names and values is
// ignored.
std::optional<Pairs> decoded_pairs(std::string_view text, char separator);

inline constexpr const char* kServiceName = "service.name";

class Labels {
 public:
  // The first value of a name is kept, so add the most important ones first. Empty values are
  // ignored.
  void add(std::string_view name, std::string_view value);
  void add(const Labels& others);

  const Pairs& pairs() const { return pairs_; }
  std::string value(std::string_view name) const;  // "" if missing

 private:
  Pairs pairs_;
};

// Returns the value of a variable; null if it is not set.
using Environment = std::function<const char*(const char*)>;

// `text`: "K=V"; "K=FROM_ENV:NAME" takes the value of a variable, "rank=FROM_ENV" what the job's launcher says. Throws
// Error, naming `option`.
void add_label(std::string_view option, std::string_view text, const Environment& environment,
               Labels* labels);

// Labels from, in this order: SAMPAN_LABELS (K=V,K=V), OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
// the usual variables of Kubernetes' downward API (docs/pushing.md), the worker's position in its job. Throws Error if
// one is malformed.
Labels environment_labels(const Environment& environment);

// The position of this process in a parallel job, by what its launcher says: the number that Open MPI, MPICH, PMIx or
// Slurm gave it, and that of its task in a job array of Slurm.
Labels job_labels(const Environment& environment);

// The id of a process's container: 64 hexadecimal digits. `cgroup`, `mountinfo`: the contents of
// /proc/PID/cgroup and mountinfo. "" if they contain none.
std::string container_id(std::string_view cgroup, std::string_view mountinfo);

// Labels as Pyroscope accepts them. It follows the rules of Prometheus: names have letters, digits
// and "_", so "k8s.pod.name" becomes "k8s_pod_name". Its /ingest writes all labels into one name,
// where some characters cannot be expressed.
struct StoreLabels {
  Pairs pairs;
  // A sentence for each label that was changed, other than dots in names.
  std::vector<std::string> changed;
};

StoreLabels pyroscope_labels(const Labels& labels);

// "redis{k8s_pod_name=a,team=b}": the name is the value of "service_name".
std::string ingest_name(StoreLabels* labels);

}  // namespace sampan::push
