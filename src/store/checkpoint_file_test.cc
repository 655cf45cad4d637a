// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint_file.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

class CheckpointFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/cpu_manager_state";
  }
  void TearDown() override { fs::remove_all(directory_); }

  State state_{
      .policy = "static",
      .shared = *CpuSet::parse("0-1,6-7"),
      .pods = {
          {"pod",
           {{"main", {.assigned = *CpuSet::parse("2-5"), .promised = *CpuSet::parse("2-3")}}}}}};
  std::string directory_;
  std::string path_;
};

TEST_F(CheckpointFile, LoadsWhatWasSaved) {
  for (const auto version : {CheckpointVersion::kV3, CheckpointVersion::kV4}) {
    ASSERT_TRUE(save_checkpoint(path_, state_, {.version = version}));
    const auto loaded = load_checkpoint(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->version, version);
    EXPECT_EQ(*state_of(*loaded), state_);
  }
}

TEST_F(CheckpointFile, SaysWhichChecksumAFileHasAndShouldHave) {
  const std::string bytes =
      R"({"policyName":"static","defaultCpuSet":"0-63","checksum":1058907511})";
  ASSERT_TRUE(write_file_atomically(path_, bytes));
  const auto loaded = load_checkpoint(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kCorrupt);
  EXPECT_EQ(loaded.error().message, path_ + ": checksum is 1058907511, content gives 1058907510");
  EXPECT_EQ(*read_checkpoint_file(path_), bytes);
}

TEST_F(CheckpointFile, NamesAFileThatIsNotThere) {
  const auto loaded = load_checkpoint(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kNotFound);
  EXPECT_EQ(loaded.error().message, "open " + path_ + ": ENOENT");
}

TEST_F(CheckpointFile, AFailedSaveNamesTheFile) {
  const std::string path = directory_ + "/none/cpu_manager_state";
  const auto saved = save_checkpoint(path, state_, {});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message, "save checkpoint: open " + directory_ + "/none: ENOENT");
}

}  // namespace
}  // namespace corehold
