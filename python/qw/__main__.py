"""The program qw: `python -m qw train ...`, and over several processes `torchrun -m qw train ...`."""

from __future__ import annotations

import datetime
import os
import signal
import sys

from . import _core
from ._lib import wrong_torch


def _make_group(rank: int, size: int, gpu: int, host: str, port: int, prefix: str, interface: str) -> str:
    """All processes as one group of torch.distributed; gives the name under which C++ finds it.

    gpu: this process's own, for NCCL; -1 where processes have none, or share it.
    """
    import torch
    import torch.distributed as dist

    if interface:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    store = dist.TCPStore(host, port, is_master=False, wait_for_workers=False)  # type: ignore[attr-defined]
    if gpu >= 0:
        torch.cuda.set_device(gpu)
    dist.init_process_group(
        "gloo" if gpu < 0 else "cpu:gloo,cuda:nccl",
        store=dist.PrefixStore(f"{prefix}/group", store),  # type: ignore[attr-defined]
        rank=rank,
        world_size=size,
        timeout=datetime.timedelta(days=30),  # who is slow is waited for; C++ watches who is lost
    )
    group = dist.group.WORLD
    assert group is not None
    return str(group.group_name)


def main() -> None:
    """Runs the command line of this process and ends it."""
    # From the command line alone: libqw_torch, whose operators the program has too, must not be loaded.
    if _core.torch_version:
        import torch  # noqa: F401  The program uses its libraries.
    try:
        from . import _cli
    except ImportError as error:
        raise wrong_torch(error) from error
    if hasattr(_cli, "set_group_maker"):
        _cli.set_group_maker(_make_group)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would see it when C++ is done
    code = _cli.run(["qw", *sys.argv[1:]])
    sys.stdout.flush()
    sys.stderr.flush()
    if code != 0:
        os._exit(code)  # where a process is lost, a group that waits for it would wait on
    sys.exit(0)


if __name__ == "__main__":
    main()
