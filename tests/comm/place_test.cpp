#include "comm/place.h"

#include <memory>

#include "support/support.h"

namespace qw {
namespace {

using test::error_of;

// Only these variables, of all that starters of processes set.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID",
          "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NODELIST", "SLURM_JOB_ID",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "LOCAL_RANK",
          "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "TORCHELASTIC_USE_AGENT_STORE",
          "TORCHELASTIC_RESTART_COUNT"}) {
      const auto given = variables.find(name);
      set_.push_back(std::make_unique<test::ScopedEnvironment>(
          name, given == variables.end() ? nullptr : given->second.c_str()));
    }
  }

 private:
  std::vector<std::unique_ptr<test::ScopedEnvironment>> set_;
};

Place place_of(const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  const std::optional<Place> place = place_from_environment();
  EXPECT_TRUE(place);
  return place.value_or(Place());
}

std::string refused(const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  return error_of([] { place_from_environment(); });
}

TEST(Place, IsNowhereWhenNobodyStartedSeveral) {
  const Environment environment({});
  EXPECT_FALSE(place_from_environment());
}

TEST(Place, IsThatOfTorchrun) {
  const Place place = place_of({{"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"LOCAL_RANK", "1"},
                                {"MASTER_ADDR", "one.example"},
                                {"MASTER_PORT", "1234"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                {"TORCHELASTIC_RESTART_COUNT", "2"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.gpu, -1);
  EXPECT_EQ(place.host, "one.example");
  EXPECT_EQ(place.port, 1234);
  EXPECT_TRUE(place.has_keeper);
  EXPECT_EQ(place.key_prefix, "qw/2");
}

TEST(Place, IsThatOfSlurm) {
  const Place place = place_of({{"SLURM_PROCID", "5"},
                                {"SLURM_STEP_NUM_TASKS", "6"},
                                {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                                {"SLURM_LOCALID", "1"},
                                {"SLURM_STEP_NODELIST", "node[03-04,07]"},
                                {"SLURM_JOB_ID", "120042"}});
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 6);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.host, "node03");
  EXPECT_EQ(place.port, 20042);
  EXPECT_FALSE(place.has_keeper);
}

TEST(Place, OfSlurmIsOnTheFirstMachineOfAnyList) {
  for (const auto& [list, first] : std::map<std::string, std::string>{
           {"alone", "alone"}, {"a1,b[2-3]", "a1"}, {"n[7]", "n7"}, {"n[009,011]", "n009"}}) {
    EXPECT_EQ(place_of({{"SLURM_PROCID", "1"},
                        {"SLURM_STEP_NUM_TASKS", "3"},
                        {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"},
                        {"SLURM_STEP_NODELIST", list}})
                  .host,
              first);
  }
}

TEST(Place, OfABatchScriptOfSlurmIsNone) {
  const Environment environment({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_FALSE(place_from_environment());
}

TEST(Place, IsThatOfMpirunOnOneMachineOrMore) {
  const Place here = place_of(
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(here.rank, 1);
  EXPECT_EQ(here.size, 2);
  EXPECT_EQ(here.host, "127.0.0.1");
  EXPECT_EQ(here.port, 29500);
  EXPECT_EQ(refused({{"OMPI_COMM_WORLD_RANK", "1"},
                     {"OMPI_COMM_WORLD_SIZE", "2"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
            "the environment lacks MASTER_ADDR: the machine of process 0, where all processes meet");
}

TEST(Place, IsRefusedWhereItMakesNoSense) {
  EXPECT_EQ(refused({{"RANK", "1"}}),
            "the environment has RANK without WORLD_SIZE: several processes need both");
  EXPECT_EQ(refused({{"WORLD_SIZE", "2"}}),
            "the environment has WORLD_SIZE without RANK: several processes need both");
  EXPECT_EQ(refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "the environment has RANK='2', which is not a number from 0 to 1");
  EXPECT_EQ(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}),
            "the environment has LOCAL_RANK='2', which is not a number from 0 to 1");
  EXPECT_EQ(refused({{"RANK", "0"}, {"WORLD_SIZE", "two"}}),
            "the environment has WORLD_SIZE='two', which is not a number from 1 to 1048576");
  EXPECT_EQ(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}}),
            "the environment has MASTER_PORT='0', which is not a number from 1 to 65535");
}

}  // namespace
}  // namespace qw
