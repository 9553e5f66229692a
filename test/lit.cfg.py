# How the tests on program text are run: each `.mlir` file says its own command in RUN lines.
import os

import lit.formats

config.name = "Soliton"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.soliton_test_exec_root

tools = [config.soliton_tools_dir, config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tools + [os.environ["PATH"]])
