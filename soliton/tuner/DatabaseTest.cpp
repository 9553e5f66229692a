// Results are written once, found again, carried elsewhere, and never believed where they are damaged.
#include "soliton/tuner/Database.h"

#include "gtest/gtest.h"

#include <sqlite3.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
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

int64_t imported(Database &database, const std::string &lines) {
  std::istringstream stream(lines);
  return database.import(stream, "lines.json");
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
  EXPECT_EQ(imported(other, lines), 2);
  EXPECT_EQ(imported(other, lines), 0);
  EXPECT_EQ(other.exported(), lines);
  EXPECT_EQ(other.find(subject, candidate.hash(), Stage::Answer)->why, "wrong");
}

std::string with(std::string text, const std::string &part, const std::string &instead) {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

/// A line of a file that is somebody else's, or that somebody has changed, is taken for nothing; nor are those before
/// it.
TEST_F(DatabaseFile, WhatNobodyExportedIsNotImported) {
  Database database(path());
  database.store(subject, candidate, Stage::Model, modelled(1.5));
  const std::string line = database.exported();
  Result timed;
  timed.measuredMicroseconds = 2;
  timed.otherMicroseconds = 3;
  const std::string duel =
      with(with(line, "\"stage\":\"model\"", "\"stage\":\"duel 3f\""), toJson(modelled(1.5)), toJson(timed));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  Database other(path("other.db"));
  EXPECT_EQ(imported(other, duel), 1);
  const std::vector<std::string> wrong = {
      "nonsense",
      "{}",
      "{\"result\": 1}",
      deep,
      with(line, toJson(modelled(1.5)), deep),
      with(line, "\"cycles\":100", "\"cycles\":" + deep),
      with(line, "\"modelled_us\":1.5", "\"modelled_us\":-1.5"),
      with(line, "\"modelled_us\":1.5", "\"modelled_us\":0.0"),
      with(line, "\"cycles\":100", "\"cycles\":-1"),
      with(line, "\"stage\":\"model\"", "\"stage\":\"device\""), // it was not measured
      with(line, "\"stage\":\"model\"", "\"stage\":\"model of it\""),
      with(duel, "\"stage\":\"duel 3f\"", "\"stage\":\"duel\""),
      with(duel, "\"other_us\":3.0", "\"other_us\":0.0"),
      with(line, "\"kernel\":\"gemm\"", "\"kernel\":\"\""),
      with(line, "\"build\":\"build\"", "\"built\":\"build\""),
      with(line, "\"gemm\"", "\"ge\xffm\""),
      std::string("\0\0", 2),
      std::string(5 << 20, ' '),
  };
  for (const std::string &each : wrong) {
    Diagnostic complaint = complaintOf([&] { imported(other, "\n" + line + each); });
    EXPECT_EQ(complaint.id, DiagId::TuneImport) << each.substr(0, 300);
    EXPECT_EQ(complaint.place, Place("lines.json", line.back() == '\n' ? 3 : 2, 1));
  }
  EXPECT_EQ(complaintOf([&] { imported(other, with(line, "soliton-candidate 1", "soliton-candidate 9")); }).id,
            DiagId::TuneCandidate);
  EXPECT_FALSE(other.find(subject, candidate.hash(), Stage::Model));
  EXPECT_EQ(imported(other, line), 1);
  EXPECT_TRUE(other.flaws().empty());
}

/// Who goes on with a database that was damaged has whole rows again, and can export what is whole meanwhile.
TEST_F(DatabaseFile, WhatCannotBeReadIsFoundOutAgainAndKept) {
  const Candidate second{{{"BLOCK_M", "32"}}, ""}, third{{{"BLOCK_M", "16"}}, ""};
  {
    Database database(path());
    database.store(subject, candidate, Stage::Model, modelled(1));
    database.store(subject, second, Stage::Model, modelled(2));
    database.store(subject, third, Stage::Model, modelled(3));
  }
  damage(path(), ("UPDATE candidates SET text = text || '3' WHERE hash = '" + third.hash() + "'").c_str());
  damage(path(), ("UPDATE results SET result = 'torn' WHERE hash = '" + candidate.hash() + "'").c_str());
  damage(path(), ("UPDATE candidates SET text = 'torn' WHERE hash = '" + candidate.hash() + "'").c_str());
  Database database(path()), other(path("other.db"));
  EXPECT_EQ(database.flaws().size(), 3U);
  EXPECT_EQ(imported(other, database.exported()), 1);
  EXPECT_FALSE(database.find(subject, candidate.hash(), Stage::Model));
  EXPECT_TRUE(database.store(subject, candidate, Stage::Model, modelled(1)));
  EXPECT_FALSE(database.store(subject, candidate, Stage::Model, modelled(9)));
  EXPECT_FALSE(database.store(subject, third, Stage::Model, modelled(3))); // whose text is whole again
  EXPECT_TRUE(database.flaws().empty());
  EXPECT_EQ(database.find(subject, candidate.hash(), Stage::Model)->cost(), 1);
  EXPECT_EQ(imported(other, database.exported()), 2);
  EXPECT_FALSE(database.find({"ge\xffm", "", "", ""}, candidate.hash(), Stage::Model));
}

/// Processes that begin at the same moment make one file, and each finds what the others wrote.
TEST_F(DatabaseFile, ManyProcessesMakeAndUseOneFile) {
  constexpr int kProcesses = 8, kRounds = 6, kResults = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = path("shared" + std::to_string(round));
    std::vector<pid_t> processes;
    for (int process = 0; process < kProcesses; ++process) {
      processes.push_back(fork());
      if (processes.back() != 0)
        continue;
      int code = 1;
      try {
        Database database(file);
        int64_t run = database.begin(subject, "settings");
        for (int i = 0; i < kResults; ++i) {
          Candidate each{{{"i", std::to_string(i)}}, ""};
          database.store(subject, each, Stage::Model, modelled(i + 1));
          database.decide(run, i, each.hash(), i + 1);
        }
        code = database.unkept() == 0 ? 0 : 2;
      } catch (const TuneError &error) {
        std::cerr << error.what();
      }
      std::_Exit(code);
    }
    for (pid_t process : processes) {
      int status = 0;
      waitpid(process, &status, 0);
      EXPECT_EQ(status, 0);
    }
    Database database(file);
    EXPECT_EQ(database.decisions(1).size(), size_t{kResults});
    EXPECT_TRUE(database.flaws().empty());
  }
}

/// Somebody who looks at the file in a program of their own, and keeps it to themselves, ends no run.
TEST_F(DatabaseFile, WhatAFileThatIsHeldDoesNotTakeIsKeptLater) {
  Database database(path(), /*patienceMs=*/10);
  int64_t run = database.begin(subject, "settings");
  sqlite3 *other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(database.store(subject, candidate, Stage::Model, modelled(2.5)));
  database.decide(run, 0, candidate.hash(), 2.5);
  EXPECT_EQ(database.unkept(), 2U);
  EXPECT_EQ(complaintOf([&] { database.begin(subject, "others"); }).id, DiagId::TuneDatabase);
  sqlite3_close(other);
  database.end(run, "budget");
  EXPECT_EQ(database.unkept(), 0U);
  EXPECT_EQ(database.find(subject, candidate.hash(), Stage::Model)->cost(), 2.5);
  EXPECT_EQ(database.decisions(run).size(), 1U);
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
