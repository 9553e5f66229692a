// Results are written once, found again, carried elsewhere, and never believed where they are damaged.
#include "soliton/tuner/Database.h"

#include "gtest/gtest.h"

#include <sqlite3.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace soliton::tune {
namespace {

class DatabaseFile : public ::testing::Test {
protected:
  DatabaseFile() : folder(std::filesystem::temp_directory_path() / ("soliton-tuner-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
  }
  ~DatabaseFile() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string &name = "tuning.db") const { return (folder / name).string(); }

  std::filesystem::path folder;
  Subject subject{"gemm", "modelled", "", "build"};
  Candidate candidate{{{"BLOCK_M", "64"}, {"schedule", "modulo"}}, ""};
};

Result modelled(double microseconds) {
  Result result;
  result.modelledMicroseconds = microseconds;
  result.cycles = 100;
  return result;
}

template <typename Act>
Diagnostic complaintOf(Act act) {
  try {
    act();
  } catch (const TuneError &error) {
    EXPECT_FALSE(error.diagnostics().front().hint.empty());
    return error.diagnostics().front();
  }
  ADD_FAILURE() << "nothing was said";
  return {Severity::remark, DiagId::AutoChoice, {}, "", "", {}};
}

void damage(const std::string &path, const char *sql) {
  sqlite3 *file = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &file), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(file, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(file);
}

/// A file that may not grow is a full disk to SQLite; what it gives later is room.
TEST_F(DatabaseFile, WhatAFullDiskDoesNotTakeIsKeptLater) {
  Database database(path());
  int64_t run = database.begin(subject, "settings");
  damage(path(), "PRAGMA wal_checkpoint(TRUNCATE)");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_TRUE(database.store(subject, candidate, Stage::Model, modelled(2.5)));
  database.decide(run, 0, candidate.hash(), 2.5);
  EXPECT_EQ(database.unkept(), 2U);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal);
  EXPECT_FALSE(database.find(subject, candidate.hash(), Stage::Model));
  database.end(run, "budget");
  EXPECT_EQ(database.unkept(), 0U);
  EXPECT_EQ(database.find(subject, candidate.hash(), Stage::Model)->cost(), 2.5);
  ASSERT_EQ(database.decisions(run).size(), 1U);
  EXPECT_EQ(database.runs().front().ended, "budget");
  EXPECT_TRUE(database.flaws().empty());
}

TEST_F(DatabaseFile, AResultIsWrittenOnce) {
  Database database(path());
  EXPECT_FALSE(database.find(subject, candidate.hash(), Stage::Model));
  EXPECT_TRUE(database.store(subject, candidate, Stage::Model, modelled(2.5)));
  EXPECT_FALSE(database.store(subject, candidate, Stage::Model, modelled(9)));
  EXPECT_EQ(database.find(subject, candidate.hash(), Stage::Model)->cost(), 2.5);
  EXPECT_FALSE(database.find(subject, candidate.hash(), Stage::Answer));
  EXPECT_EQ(database.candidate(candidate.hash()), candidate);
}

TEST_F(DatabaseFile, AnotherDeviceDriverOrBuildKnowsNothingOfIt) {
  Database database(path());
  database.store(subject, candidate, Stage::Model, modelled(1));
  for (std::string Subject::*part : {&Subject::kernel, &Subject::device, &Subject::driver, &Subject::build}) {
    Subject other = subject;
    other.*part += "2";
    EXPECT_FALSE(database.find(other, candidate.hash(), Stage::Model));
  }
}

TEST_F(DatabaseFile, ARunGoesOnAndMustDecideTheSame) {
  {
    Database database(path());
    int64_t run = database.begin(subject, "{}");
    database.decide(run, 0, candidate.hash(), 3.25);
    database.decide(run, 1, "other", std::numeric_limits<double>::infinity());
  }
  Database database(path());
  int64_t run = database.begin(subject, "{}");
  EXPECT_NE(run, database.begin(subject, "{\"seed\":2}"));
  database.decide(run, 0, candidate.hash(), 3.25);
  database.decide(run, 1, "other", std::numeric_limits<double>::infinity());
  EXPECT_EQ(complaintOf([&] { database.decide(run, 0, "another", 3.25); }).id, DiagId::TuneDecision);
  EXPECT_THROW(database.decide(run, 0, candidate.hash(), 3), TuneError);
  database.end(run, "budget");
  std::vector<tune::Run> runs = database.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.back().ended, "budget");
  EXPECT_EQ(runs.back().decisions, 2);
  EXPECT_EQ(runs.back().bestHash, candidate.hash());
  EXPECT_EQ(database.decisions(run).size(), 2u);
}

TEST_F(DatabaseFile, WhatIsExportedIsImportedOnce) {
  Database database(path());
  database.store(subject, candidate, Stage::Model, modelled(1.5));
  database.store(subject, candidate, Stage::Answer, Result::refused("answer", "wrong"));
  std::string lines = database.exported();
  Database other(path("other.db"));
  EXPECT_EQ(other.import(lines), 2);
  EXPECT_EQ(other.import(lines), 0);
  EXPECT_EQ(other.exported(), lines);
  EXPECT_THROW(other.import(lines + "{\"result\": 1}\n"), TuneError);
  Diagnostic complaint = complaintOf([&] { other.import("\nnonsense", "lines.json"); });
  EXPECT_EQ(complaint.id, DiagId::TuneImport);
  EXPECT_EQ(complaint.place, Place("lines.json", 2, 1));
  EXPECT_EQ(other.find(subject, candidate.hash(), Stage::Answer)->why, "wrong");
}

TEST_F(DatabaseFile, DamageIsSaid) {
  {
    Database database(path());
    database.store(subject, candidate, Stage::Model, modelled(1));
    EXPECT_TRUE(database.flaws().empty());
  }
  damage(path(), "UPDATE candidates SET text = text || ' '");
  EXPECT_EQ(Database(path()).flaws().size(), 1u);
  damage(path(), "UPDATE results SET result = '{}'; DELETE FROM candidates");
  EXPECT_EQ(Database(path()).flaws().size(), 2u);
  EXPECT_FALSE(Database(path()).find(subject, candidate.hash(), Stage::Model));
}

TEST_F(DatabaseFile, AFileOfAnotherKindIsRefused) {
  std::ofstream(path("text.db"))
      << "this is no database, and longer than the header of one would be, by some bytes ........";
  EXPECT_THROW(Database(path("text.db")), TuneError);
  damage(path("foreign.db"), "CREATE TABLE t(x)");
  EXPECT_THROW(Database(path("foreign.db")), TuneError);
  EXPECT_THROW(Database(path("missing/folder/tuning.db")), TuneError);
}

TEST(Candidate, TextAndHashAreCanonical) {
  Candidate one{{{"b", "2"}, {"a", "1"}}, "soliton-schedule 2\nloop \"K\"\n"};
  Candidate two{{{"a", "1"}, {"b", "2"}}, one.schedule};
  EXPECT_EQ(one.text(), two.text());
  EXPECT_EQ(one.hash(), two.hash());
  EXPECT_EQ(parseCandidate(one.text()), one);
  EXPECT_NE(Candidate().hash(), one.hash());
  for (const char *text :
       {"", "soliton-candidate 2\n", "soliton-candidate 1\nnothing\n", "soliton-candidate 1\n = 3\n"})
    EXPECT_EQ(complaintOf([&] { parseCandidate(text); }).id, DiagId::TuneCandidate) << text;
}

TEST(Result, SurvivesJsonAndNothingElseDoes) {
  Result result = modelled(0.1 + 0.2);
  result.why = "`a` \"b\"\n";
  result.registers = 164;
  std::optional<Result> back = resultFromJson(toJson(result));
  ASSERT_TRUE(back);
  EXPECT_EQ(toJson(*back), toJson(result));
  EXPECT_EQ(back->cost(), result.cost());
  for (const char *text : {"", "{}", "[]", "{\"soliton_result\": 1}", "{\"soliton_result\": 2}", "\x01{"})
    EXPECT_FALSE(resultFromJson(text)) << text;
}

} // namespace
} // namespace soliton::tune
