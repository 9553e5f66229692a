"""Traces of launches as RPD keeps them (rocmProfileData, schema 3): an SQLite file that its tools and Wave's scripts read.

    write_trace("trace_0000.rpd", "attention", [8.2e-6, 8.1e-6], times="measured", device="NVIDIA H200")
    calculate_average_latency("trace_0000.rpd")                  8.15e-06

Each launch is one row of rocpd_op, and the call that made it one of rocpd_api. `times` says what the durations are, in
rocpd_metadata and in the category of each call: `measured` by the device's events, `emulated` (how long the emulator took, on the
clock of this machine), or `modelled`, in which case nothing was launched.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import threading
import time

from .._errors import error

KINDS = ("measured", "emulated", "modelled")
# Reads of RPD's tools count on these numbers.
_METADATA = {"gpu_stride": "1000", "pid_stride": "10000000", "schema_version": "3"}

_SCHEMA = """
CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY AUTOINCREMENT, tag VARCHAR(4096) NOT NULL, value VARCHAR(4096) NOT NULL);
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY AUTOINCREMENT, string VARCHAR(4096) NOT NULL);
CREATE TABLE rocpd_ustring (id INTEGER PRIMARY KEY AUTOINCREMENT, string VARCHAR(4096) NOT NULL);
CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, tid INTEGER NOT NULL, start INTEGER NOT NULL,
  end INTEGER NOT NULL, apiName_id INTEGER NOT NULL REFERENCES rocpd_string (id), args_id INTEGER NOT NULL REFERENCES rocpd_ustring (id),
  category_id INTEGER NOT NULL REFERENCES rocpd_string (id), domain_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY AUTOINCREMENT, gpuId INTEGER NOT NULL, queueId INTEGER NOT NULL, sequenceId INTEGER NOT NULL,
  start INTEGER NOT NULL, end INTEGER NOT NULL, description_id INTEGER NOT NULL REFERENCES rocpd_string (id),
  opType_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY AUTOINCREMENT, api_id INTEGER NOT NULL REFERENCES rocpd_api (id),
  op_id INTEGER NOT NULL REFERENCES rocpd_op (id));
CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY REFERENCES rocpd_api (id), stream VARCHAR(18) NOT NULL, gridX INTEGER NOT NULL,
  gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, workgroupX INTEGER NOT NULL, workgroupY INTEGER NOT NULL, workgroupZ INTEGER NOT NULL,
  groupSegmentSize INTEGER NOT NULL, privateSegmentSize INTEGER NOT NULL, kernelName_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER PRIMARY KEY REFERENCES rocpd_api (id), stream VARCHAR(18) NOT NULL, size INTEGER NOT NULL,
  width INTEGER NOT NULL, height INTEGER NOT NULL, kind INTEGER NOT NULL, dst VARCHAR(18) NOT NULL, src VARCHAR(18) NOT NULL,
  dstDevice INTEGER NOT NULL, srcDevice INTEGER NOT NULL, sync BOOL NOT NULL, pinned BOOL NOT NULL);
CREATE TABLE rocpd_monitor (id INTEGER PRIMARY KEY AUTOINCREMENT, deviceType VARCHAR(16) NOT NULL, deviceId INTEGER NOT NULL,
  monitorType VARCHAR(16) NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, value VARCHAR(255) NOT NULL);
CREATE TABLE rocpd_counter (id INTEGER PRIMARY KEY AUTOINCREMENT, value REAL NOT NULL, op_id INTEGER NOT NULL REFERENCES rocpd_op (id),
  name_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE TABLE rocpd_stackframe (id INTEGER PRIMARY KEY AUTOINCREMENT, api_ptr_id INTEGER NOT NULL REFERENCES rocpd_api (id),
  depth INTEGER NOT NULL, name_id INTEGER NOT NULL REFERENCES rocpd_string (id));
CREATE INDEX rocpd_string_string ON rocpd_string (string);
CREATE VIEW api AS SELECT a.id, a.pid, a.tid, a.start, a.end, n.string AS apiName, u.string AS args FROM rocpd_api a
  JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_ustring u ON u.id = a.args_id;
CREATE VIEW op AS SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end, d.string AS description, t.string AS opType
  FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id;
CREATE VIEW busy AS SELECT gpuId, sum(end - start) AS GpuTime, max(end) - min(start) AS WallTime,
  sum(end - start) * 1.0 / (max(end) - min(start)) AS Busy FROM rocpd_op GROUP BY gpuId;
CREATE VIEW top AS SELECT Name, count(*) AS TotalCalls, sum(length) / 1000 AS TotalDuration_us, sum(length) / count(*) / 1000.0 AS Ave_us,
  sum(length) * 100.0 / (SELECT sum(end - start) FROM rocpd_op) AS Percentage
  FROM (SELECT d.string AS Name, o.end - o.start AS length FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id)
  GROUP BY Name ORDER BY sum(length) DESC;
CREATE VIEW kernel AS SELECT a.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end, o.end - o.start AS duration, k.stream, k.gridX, k.gridY,
  k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, k.groupSegmentSize, k.privateSegmentSize, n.string AS kernelName
  FROM rocpd_api_ops l JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_kernelapi k ON k.api_ptr_id = a.id
  JOIN rocpd_string n ON n.id = k.kernelName_id;
CREATE VIEW copy AS SELECT a.id, a.pid, a.tid, a.start, a.end, n.string AS apiName, c.* FROM rocpd_copyapi c
  JOIN rocpd_api a ON a.id = c.api_ptr_id JOIN rocpd_string n ON n.id = a.apiName_id;
CREATE VIEW copyop AS SELECT a.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end, o.end - o.start AS duration, c.* FROM rocpd_api_ops l
  JOIN rocpd_api a ON a.id = l.api_id JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_copyapi c ON c.api_ptr_id = a.id;
CREATE VIEW stackframe AS SELECT f.api_ptr_id, f.depth, n.string AS name FROM rocpd_stackframe f JOIN rocpd_string n ON n.id = f.name_id;
CREATE VIEW napi AS SELECT * FROM api;
CREATE VIEW nop AS SELECT * FROM op;
"""


def _interned(file, table: str, text: str) -> int:
    row = file.execute(f"SELECT id FROM {table} WHERE string = ?", (text,)).fetchone()
    return row[0] if row else file.execute(f"INSERT INTO {table} (string) VALUES (?)", (text,)).lastrowid


def write_trace(path, kernel: str, seconds: list[float], *, times: str, device: str, launches: int = 1, grid=(1, 1, 1), threads=(1, 1, 1)) -> None:
    """One launch for each duration; of `launches` launches, where each duration is their mean. Replaces the file."""
    if times not in KINDS:
        raise error("schedule-argument", f"found times that are `{times}`, expected one of {', '.join(KINDS)}")
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as file:
        file.executescript(_SCHEMA)
        about = {**_METADATA, "times": times, "device": device, "written_by": "soliton"}
        file.executemany("INSERT INTO rocpd_metadata (tag, value) VALUES (?, ?)", about.items())
        _write_launches(file, kernel, seconds, times, launches, grid, threads)
    file.close()


def _write_launches(file, kernel: str, seconds, times: str, launches: int, grid, threads) -> None:
    empty, name, kind = (_interned(file, "rocpd_string", each) for each in ("", kernel, "KernelExecution"))
    call, category, domain = (_interned(file, "rocpd_string", each) for each in ("launch", times, "soliton"))
    arguments = _interned(file, "rocpd_ustring", "" if launches == 1 else f"mean of {launches} launches")
    at, pid, tid = time.monotonic_ns(), os.getpid(), threading.get_native_id()
    for number, each in enumerate(seconds):
        # One behind the other: launches of the same start would be one to RPD's views.
        end = at + max(1, round(each * 1e9))
        asked = (pid, tid, at, end, call, arguments, category, domain)
        api = file.execute("INSERT INTO rocpd_api (pid, tid, start, end, apiName_id, args_id, category_id, domain_id) VALUES (?,?,?,?,?,?,?,?)", asked).lastrowid
        done = (0, 0, number, at, end, name, kind)
        op = file.execute("INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, end, description_id, opType_id) VALUES (?,?,?,?,?,?,?)", done).lastrowid
        file.execute("INSERT INTO rocpd_api_ops (api_id, op_id) VALUES (?, ?)", (api, op))
        file.execute("INSERT INTO rocpd_kernelapi VALUES (?,?,?,?,?,?,?,?,?,?,?)", (api, "0", *grid, *threads, 0, 0, name))
        at = end + 1
    assert empty == 1, "the empty string is RPD's first"


class rpdTracerControl:
    """RPD's own name: launches on the emulator between `start` and `stop`, as a trace.

    >>> rpdTracerControl.setFilename("trace.rpd")
    >>> tracer = rpdTracerControl()
    >>> tracer.start(); run(a, b, c); tracer.stop()

    On a GPU a call returns before the kernel has run: `soliton.tuner.tune_attention` measures there, by the device's events.
    """

    _path: pathlib.Path | str = "trace.rpd"

    @classmethod
    def setFilename(cls, name, append: bool = False) -> None:
        if append:
            raise error("not-supported-here", "traces that are added to a file", "name a new file: `setFilename(name)`")
        cls._path = name

    def start(self) -> None:
        from .._kernel import WaveKernel

        self.launches: list[tuple[str, float]] = []
        self._call = WaveKernel.__call__
        WaveKernel.__call__ = self._traced(self._call)  # type: ignore[method-assign]

    def _traced(self, call):
        def traced(kernel, *args, **options):
            if kernel._compiled is not None and kernel._compiled.device != "emulator":
                raise error("not-supported-here", "a trace of launches on a GPU by `rpdTracerControl`", "`soliton.tuner.tune_attention(config, device=…)` measures there")
            begun = time.perf_counter()
            call(kernel, *args, **options)
            self.launches.append((kernel._trace.kernel.name, time.perf_counter() - begun))

        return traced

    def stop(self) -> None:
        from .._kernel import WaveKernel

        WaveKernel.__call__ = self._call  # type: ignore[method-assign]
        names = sorted({name for name, _ in self.launches})
        if len(names) > 1:
            raise error("not-supported-here", f"one trace of several kernels: {', '.join(names)}", "trace them one by one")
        write_trace(self._path, names[0] if names else "", [seconds for _, seconds in self.launches], times="emulated", device="emulator")


def calculate_average_latency(path, kernel: str | None = None) -> float:
    """Seconds of a launch of the kernel on average; of the one that took longest in all, where none is named."""
    try:
        with contextlib.closing(sqlite3.connect(f"{pathlib.Path(path).absolute().as_uri()}?mode=ro", uri=True)) as file:
            rows = file.execute("SELECT Name, Ave_us FROM top").fetchall()
    except sqlite3.Error as failure:
        raise error("schedule-argument", f"`{path}` is no trace ({failure}), expected a file of RPD's schema", "`write_trace(path, …)` makes one") from None
    found = [average for name, average in rows if kernel in (None, name)]
    if not found:
        raise error("schedule-argument", f"`{path}` has no launch of `{kernel}`", f"it has {', '.join(name for name, _ in rows) or 'none'}")
    return found[0] * 1e-6
