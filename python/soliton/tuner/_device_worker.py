"""A process that launches what another one compiled: `python -m soliton.tuner._device_worker` answers requests of `_device.Device`."""

from soliton.tuner._device import Launcher
from soliton.tuner._workers import serve

if __name__ == "__main__":
    serve(Launcher())
