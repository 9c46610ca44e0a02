#include "remote/push/labels.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace sampan::push {
namespace {

Labels of(const std::map<std::string, std::string>& variables) {
  return environment_labels([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Labels, KeepTheFirstValue) {
  Labels labels;
  labels.add("a", "");
  labels.add("a", "1");
  labels.add("a", "2");
  EXPECT_EQ(labels.pairs(), (Pairs{{"a", "1"}}));
  EXPECT_EQ(labels.value("b"), "");
}

TEST(Labels, ComeFromTheEnvironment) {
  const Labels labels = of({{"SAMPAN_LABELS", " team = web ,zone=a%2Cb"},
                            {"OTEL_SERVICE_NAME", "shop"},
                            {"OTEL_RESOURCE_ATTRIBUTES", "service.name=no,team=no,x=1"},
                            {"POD_NAME", "not in Kubernetes"},
                            {"K8S_NODE_NAME", "n7"}});
  EXPECT_EQ(labels.pairs(), (Pairs{{"team", "web"},
                                   {"zone", "a,b"},
                                   {"service.name", "shop"},
                                   {"x", "1"},
                                   {"k8s.node.name", "n7"}}));
  EXPECT_EQ(of({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"POD_NAME", "p"}}).value("k8s.pod.name"),
            "p");
}

TEST(Labels, ReportInvalidValues) {
  EXPECT_THROW(of({{"SAMPAN_LABELS", "team"}}), Error);
  EXPECT_THROW(of({{"OTEL_RESOURCE_ATTRIBUTES", "a=%zz"}}), Error);
  EXPECT_THROW(of({{"OTEL_RESOURCE_ATTRIBUTES", "a=%4"}}), Error);
  Labels labels;
  const auto environment = [](const char* name) {
    return std::string_view(name) == "TEAM" ? "search" : nullptr;
  };
  EXPECT_THROW(add_label("--label", "=x", environment, &labels), Error);
  add_label("--label", "a=b=c", environment, &labels);
  EXPECT_EQ(labels.value("a"), "b=c");
  add_label("--label", "group=FROM_ENV:TEAM", environment, &labels);
  EXPECT_EQ(labels.value("group"), "search");
  add_label("--label", "literal=FROM_ENVY", environment, &labels);
  EXPECT_EQ(labels.value("literal"), "FROM_ENVY");
  for (const char* wrong : {"x=FROM_ENV", "x=FROM_ENV:", "x=FROM_ENV:HOME", "rank=FROM_ENV"}) {
    EXPECT_THROW(add_label("--label", wrong, environment, &labels), Error) << wrong;
  }
}

TEST(Labels, OfAJobComeFromItsLauncher) {
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_RANK", "7"}, {"SLURM_PROCID", "0"}}).value("rank"), "7");
  EXPECT_EQ(of({{"PMI_RANK", "../x"}, {"SLURM_PROCID", "3"}}).value("rank"), "3");
  EXPECT_EQ(of({{"SLURM_PROCID", "0"}, {"SLURM_ARRAY_TASK_ID", "12"}}).pairs(),
            (Pairs{{"rank", "0"}, {"array_task", "12"}}));
  EXPECT_EQ(of({{"HOSTNAME", "solver-7"}}).value("k8s.pod.name"), "");
  EXPECT_EQ(
      of({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "solver-7"}}).value("k8s.pod.name"),
      "solver-7");
  Labels labels;
  add_label(
      "--label", "rank=FROM_ENV",
      [](const char* name) { return std::string_view(name) == "PMI_RANK" ? "5" : nullptr; },
      &labels);
  EXPECT_EQ(labels.value("rank"), "5");
}

TEST(Percent, RoundTrip) {
  const Pairs pairs = {{"a b", "1&2=3%"}, {"\xc3\xa9", "x\ny"}};
  EXPECT_EQ(encoded_pairs(pairs), "a%20b=1%262%3D3%25&%C3%A9=x%0Ay");
  EXPECT_EQ(decoded_pairs(encoded_pairs(pairs), '&'), pairs);
  EXPECT_EQ(decoded_pairs("", '&'), Pairs());
  EXPECT_EQ(decoded_pairs("=1", '&'), std::nullopt);
}

TEST(Container, IsFoundInTheCgroup) {
  const std::string id(64, 'a'), pod(64, 'b');
  EXPECT_EQ(container_id("0::/system.slice/docker-" + id + ".scope\n", ""), id);
  EXPECT_EQ(container_id("12:cpu:/kubepods/burstable/pod12/" + id + "\n0::/\n", ""), id);
  EXPECT_EQ(container_id("0::/../cri-containerd-" + id + ".scope", ""), id);
  EXPECT_EQ(container_id("0::/user.slice/session-1.scope\n", ""), "");
  EXPECT_EQ(container_id("0::/" + id + "a\n", ""), "");  // too long for an id
  EXPECT_EQ(container_id("0::/\n", "1 2 8:1 /var/lib/docker/containers/" + id +
                                       "/hostname /etc/hostname rw\n"),
            id);
  EXPECT_EQ(container_id("0::/\n", "1 2 8:1 /run/sandboxes/" + pod + "/hostname /etc/hostname"),
            "");
}

TEST(StoreLabels, FollowPrometheusRules) {
  Labels labels;
  for (const auto& [name, value] : Pairs{{"k8s.pod.name", "p"},
                                         {"k8s_pod_name", "again"},
                                         {"9 lives", "x"},
                                         {"__name__", "y"},
                                         {"long", std::string(3000, 'z')}}) {
    labels.add(name, value);
  }
  const StoreLabels own = pyroscope_labels(labels);
  EXPECT_EQ(own.pairs, (Pairs{{"k8s_pod_name", "p"},
                              {"_9_lives", "x"},
                              {"_name__", "y"},
                              {"long", std::string(2048, 'z')}}));
  ASSERT_EQ(own.changed.size(), 4u);
  EXPECT_NE(own.changed[0].find("k8s_pod_name is left out"), std::string::npos);
  EXPECT_NE(own.changed[1].find("9 lives is called _9_lives"), std::string::npos);
}

TEST(StoreLabels, FitIntoTheNameOfIngest) {
  Labels labels;
  labels.add("service.name", "my shop{1}");
  labels.add("path", " a=b,c} ");
  StoreLabels own = pyroscope_labels(labels);
  EXPECT_EQ(own.changed.size(), 0u);
  EXPECT_EQ(ingest_name(&own), "my_shop_1_{path=a=b_c_}");
  EXPECT_EQ(own.changed.size(), 2u);
}

}  // namespace
}  // namespace sampan::push
