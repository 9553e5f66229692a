#include "soliton/driver/PluginBuild.h"

#include "soliton/driver/Plugin.h"
#include "soliton/support/Diagnostics.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace soliton {
namespace fs = std::filesystem;

[[noreturn]] static void fail(DiagId id, const std::string &source, std::string message, std::string hint) {
  throw CompileError({{Severity::error, id, Place(source, 1, 1), std::move(message), std::move(hint), {}}});
}

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

//===-- The toolchain -------------------------------------------------------------------------===//

/// The program of that name as a shell would find it.
static std::optional<fs::path> findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::optional<fs::path>(name) : std::nullopt;
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::path file = fs::path(folder) / name; ::access(file.c_str(), X_OK) == 0)
      return file;
  return std::nullopt;
}

static fs::path findCompiler(const std::string &source) {
  for (const char *name : {"SOLITON_CXX", "CXX"})
    if (std::string said = variable(name); !said.empty()) {
      if (std::optional<fs::path> found = findProgram(said))
        return *found;
      fail(DiagId::PluginToolchain, source,
           "`" + std::string(name) + "` names `" + said + "`, which is no program that can be run",
           "set it to a C++20 compiler, such as `clang++`");
    }
  for (const char *name : {"c++", "clang++", "g++"})
    if (std::optional<fs::path> found = findProgram(name))
      return *found;
  fail(DiagId::PluginToolchain, source, "found no C++ compiler: neither `c++` nor `clang++` nor `g++` is in `PATH`",
       "install one, or set `SOLITON_CXX`; a plug-in that was built elsewhere needs none");
}

/// Beside the program, as `cmake --install` leaves them.
static std::string findHeaders(const std::string &source) {
  std::error_code error;
  std::string said = variable("SOLITON_INCLUDE_DIR");
  fs::path folder =
      said.empty() ? fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "include" : fs::path(said);
  if (fs::is_regular_file(folder / "soliton" / "plugin.h", error))
    return folder.string();
  fail(DiagId::PluginToolchain, source, "found no `soliton/plugin.h` in `" + folder.string() + "`",
       "install Soliton with its headers, or set `SOLITON_INCLUDE_DIR`");
}

Toolchain findToolchain(const std::string &source) {
#ifdef SOLITON_NO_PLUGINS
  fail(DiagId::PluginToolchain, source, "this Soliton travels without headers and takes no kernels in C++",
       "install Soliton, or compile the kernel there with `--emit image`");
#endif
  std::error_code error;
  fs::path compiler = findCompiler(source);
  Toolchain chain{.compiler = compiler.string(), .identity = {}, .flags = {}, .headers = findHeaders(source)};
  chain.identity = chain.compiler + ":" + std::to_string(fs::file_size(fs::canonical(compiler, error), error)) + ":" +
                   std::to_string(fs::last_write_time(compiler, error).time_since_epoch().count());
  std::istringstream flags(variable("SOLITON_CXXFLAGS"));
  for (std::string flag; flags >> flag;)
    chain.flags.push_back(flag);
  return chain;
}

//===-- Compiling -------------------------------------------------------------------------------===//

/// Runs a program with its output in a file; its exit code, or nothing where it cannot be run or was killed.
static std::optional<int> runProgram(const std::vector<std::string> &command, const fs::path &output) {
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  int failed = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (!failed && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return failed || !WIFEXITED(status) ? std::nullopt : std::optional(WEXITSTATUS(status));
}

/// Removed with everything in it.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "soliton-plugin-XXXXXX").string();
    if (::mkdtemp(name.data()))
      folder = name;
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder() {
    std::error_code error;
    if (!folder.empty())
      fs::remove_all(folder, error);
  }
  fs::path operator/(const char *name) const { return folder / name; }
  bool exists() const { return !folder.empty(); }

private:
  fs::path folder;
};

static std::string textOf(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

static std::vector<std::string> commandLine(const Toolchain &chain, const std::string &source, const fs::path &library,
                                            const fs::path &dependences) {
  std::vector<std::string> command{chain.compiler, "-std=c++20", "-O0", "-fPIC", "-shared"};
  command.insert(command.end(), {"-I" + chain.headers, "-DSOLITON_PLUGIN_BUILD=\"" + programBuild() + "\""});
  command.insert(command.end(), chain.flags.begin(), chain.flags.end());
  command.insert(command.end(), {"-MMD", "-MF", dependences.string(), "-o", library.string()});
  // A name that starts with `-` is a file all the same.
  command.push_back(source.starts_with('-') ? "./" + source : source);
  return command;
}

static rt::CacheKey keyOf(const Toolchain &chain, const std::string &source) {
  rt::KeyBuilder key;
  key.add("plugin", programBuild()).add("compiler", chain.identity).add("headers", chain.headers);
  for (const std::string &flag : chain.flags)
    key.add("flag", flag);
  // Places of the kernels say the path, so the same text elsewhere is another plug-in.
  return key.add("path", source).add("text", textOf(source)).finish();
}

static void requireReadable(const std::string &source) {
  std::error_code error;
  if (!fs::is_regular_file(source, error) || ::access(source.c_str(), R_OK) != 0)
    fail(DiagId::PluginLoad, source, "there is no such file, or it cannot be read",
         "give the path of a C++ file that registers kernels by `SOLITON_KERNEL`");
}

std::string compilePlugin(const std::string &source, const fs::path &library) {
  requireReadable(source);
  Toolchain chain = findToolchain(source);
  ScratchFolder scratch;
  if (!scratch.exists())
    fail(DiagId::PluginToolchain, source, "cannot make a folder below `" + fs::temp_directory_path().string() + "`",
         "set `TMPDIR` to a folder that can be written");
  PluginRecord record{.key = keyOf(chain, source).text(), .source = source, .headers = {}};
  std::optional<int> code = runProgram(commandLine(chain, source, library, scratch / "deps"), scratch / "said");
  std::string said = textOf(scratch / "said");
  while (said.ends_with('\n'))
    said.pop_back();
  if (code != 0)
    fail(DiagId::PluginCompile, source, "`" + chain.compiler + "` refuses it" + (said.empty() ? "" : ":\n" + said),
         "what it says is above; `SOLITON_CXX` chooses another compiler, `SOLITON_CXXFLAGS` adds flags");
  for (const std::string &file : parseDependences(textOf(scratch / "deps")))
    if (fs::path absolute = fs::absolute(file); file != source)
      record.headers.push_back({absolute.string(), hashOfFile(absolute)});
  if (!sealPlugin(library, record))
    fail(DiagId::PluginLoad, source, "cannot write `" + library.string() + "`", "");
  return said;
}

//===-- The cache ---------------------------------------------------------------------------------===//

static constexpr const char *kSuffix = ".plugin";

/// Of several builds of one text, with headers as they were from time to time, that with headers as they are.
static std::optional<fs::path> findBuilt(const rt::ImageCache &cache, const rt::CacheKey &key) {
  for (const rt::CacheEntry &entry : cache.files(kSuffix)) {
    if (!entry.file.filename().string().starts_with(key.text()))
      continue;
    std::optional<PluginRecord> record = recordOf(entry.file);
    if (record && record->key == key.text() && isUpToDate(*record))
      return entry.file;
  }
  return std::nullopt;
}

static BuiltPlugin buildAlone(const std::string &source) {
  std::string name = (fs::temp_directory_path() / "soliton-plugin-XXXXXX").string();
  int file = ::mkstemp(name.data());
  if (file < 0)
    fail(DiagId::PluginToolchain, source, "cannot write to `" + fs::temp_directory_path().string() + "`",
         "set `TMPDIR` to a folder that can be written");
  ::close(file);
  try {
    return {name, false, compilePlugin(source, name)};
  } catch (...) {
    std::error_code error;
    fs::remove(name, error);
    throw;
  }
}

BuiltPlugin findOrBuildPlugin(const std::string &source) {
  requireReadable(source);
  std::optional<rt::ImageCache> cache = rt::ImageCache::byDefault();
  if (!cache || cache->flaw() || programBuild().empty())
    return buildAlone(source);
  rt::CacheKey key = keyOf(findToolchain(source), source);
  // The claim makes the folder; whoever waits for it finds what the other built.
  std::optional<rt::CacheClaim> claim = cache->claim(key, std::chrono::seconds(60));
  if (!claim)
    return buildAlone(source);
  std::error_code error;
  if (std::optional<fs::path> library = findBuilt(*cache, key)) {
    fs::last_write_time(*library, fs::file_time_type::clock::now(), error);
    return {*library, true, {}};
  }
  fs::path unfinished = cache->place() / (key.text() + kSuffix + "-" + std::to_string(::getpid()));
  try {
    std::string said = compilePlugin(source, unfinished);
    // A loader takes files of one name for the same, so what differs has another.
    fs::path library = cache->place() / (key.text() + "-" + hashOfFile(unfinished).substr(0, 16) + kSuffix);
    fs::rename(unfinished, library);
    cache->trim();
    return {library, false, std::move(said)};
  } catch (...) {
    fs::remove(unfinished, error);
    throw;
  }
}

std::vector<CachedPlugin> cachedPlugins(const rt::ImageCache &cache) {
  std::vector<CachedPlugin> found;
  for (const rt::CacheEntry &entry : cache.files(kSuffix))
    if (std::optional<PluginRecord> record = recordOf(entry.file))
      found.push_back({entry.file, entry.bytes, entry.used, record->source});
    else
      found.push_back({entry.file, entry.bytes, entry.used, {}});
  return found;
}

} // namespace soliton
