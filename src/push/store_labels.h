// Labels as Pyroscope takes them. It has the rules of Prometheus: names of letters, digits and "_",
// so "k8s.pod.name" becomes "k8s_pod_name"; and its /ingest writes them into one name, where some
// characters cannot be said.
#pragma once

#include <string>
#include <vector>

#include "push/labels.h"

namespace sampan::push {

struct StoreLabels {
  Pairs pairs;
  // A sentence for each that was changed, but for dots in names.
  std::vector<std::string> changed;
};

StoreLabels pyroscope_labels(const Labels& labels);

// "redis{k8s_pod_name=a,team=b}" of such labels: the name is that of "service_name".
std::string ingest_name(StoreLabels* labels);

}  // namespace sampan::push
