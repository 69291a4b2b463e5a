"""stdin, stdout and stderr: unread, endless, closed early, binary, huge."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead.process import STDERR_LIMIT, STDOUT_LIMIT, TAIL
from tests.runner.conftest import Drive, Token

SIZES = (0, 1, 4096, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 1 << 20, 16 << 20)
PAYLOAD = os.urandom(1 << 20) * 8


@pytest.mark.parametrize("size", SIZES)
def test_a_payload_of_any_size_is_delivered_whole(drive: Drive, size: int) -> None:
    payload = (PAYLOAD * 2)[:size]
    result = drive("sha256sum", stdin=payload, timeout=60)
    assert result.stdout.split()[0].decode() == hashlib.sha256(payload).hexdigest()
    assert result.fed


def test_a_payload_comes_back_while_it_is_still_being_sent(drive: Drive) -> None:
    """Both directions at once: one after the other would wait for each other for ever."""
    payload = PAYLOAD[: STDOUT_LIMIT - 1]
    result = drive("tee /dev/stderr", stdin=payload, timeout=60)
    assert (result.stdout, result.stderr) == (payload, payload[:STDERR_LIMIT])


@pytest.mark.parametrize(
    "script",
    [
        "exec <&-; echo '{}'",
        "echo '{}'",
        "head -c 100 >/dev/null; echo '{}'",
        "head -c 1000000 >/dev/null; exec <&-; echo '{}'",
        "exec </dev/null; echo '{}'",
    ],
    ids=["closed", "unread", "100 bytes read", "half read, closed", "replaced"],
)
def test_stdin_that_nobody_wants_is_not_an_error(drive: Drive, script: str) -> None:
    for _ in range(10):
        result = drive(script, stdin=PAYLOAD, timeout=20)
        assert (result.stdout, result.exit_code, result.error, result.fed) == (b"{}\n", 0, "", False)


@pytest.mark.parametrize("script", ["exec sleep 30", "exec <&-; exec sleep 30"], ids=["never reads", "closes it"])
def test_the_deadline_holds_for_a_hook_that_does_not_read(drive: Drive, script: str) -> None:
    for _ in range(5):
        started = time.monotonic()
        result = drive(script, stdin=PAYLOAD, timeout=0.2)
        assert result.timed_out
        assert time.monotonic() - started < 0.2 + 0.75 + 1.0  # the last second is for a busy machine


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("script", ["exec sleep 30", "exec <&-; exec sleep 30"])
def test_soak_the_deadline_holds_for_a_hook_that_does_not_read(drive: Drive, script: str) -> None:
    for _ in range(200):
        started = time.monotonic()
        assert drive(script, stdin=PAYLOAD, timeout=1).timed_out
        assert time.monotonic() - started < 1.75


def test_control_writing_before_the_clock_starts_has_no_deadline() -> None:
    """What the first write of a whole payload does, if nothing else happens meanwhile."""

    async def write_first() -> None:
        child = await asyncio.create_subprocess_exec("sleep", "30", stdin=asyncio.subprocess.PIPE)
        assert child.stdin is not None
        try:
            child.stdin.write(PAYLOAD)
            await asyncio.wait_for(child.stdin.drain(), 1)
        finally:
            child.kill()
            await child.wait()

    with pytest.raises(TimeoutError):
        asyncio.run(write_first())


@pytest.mark.parametrize(
    "data", [b"\0\0\0", bytes(range(256)), b"\xff\xfe\xfd", b"\xc3(", b"", b"\r\n\x1b[31m"], ids=repr
)
def test_output_arrives_byte_for_byte(drive: Drive, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(data)
    result = drive("cat data; cat data >&2", cwd=tmp_path)
    assert (result.stdout, result.stderr, result.tail, result.truncated) == (data, data, data, False)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_the_limit_is_exact(drive: Drive, extra: int) -> None:
    result = drive(f"head -c {STDOUT_LIMIT + extra} /dev/zero | tr '\\0' x")
    assert len(result.stdout) == min(STDOUT_LIMIT + extra, STDOUT_LIMIT)
    assert result.truncated == (extra > 0)


def test_the_end_of_cut_output_is_kept(drive: Drive) -> None:
    result = drive(f"head -c {3 * STDOUT_LIMIT} /dev/zero; echo the end")
    assert result.truncated
    assert result.tail.endswith(b"\0the end\n")
    assert len(result.tail) == TAIL


def test_a_hook_may_close_its_output_and_work_on(drive: Drive) -> None:
    result = drive("echo said; exec >&- 2>&-; read -t 0.2 < <(sleep 1) ; exit 5")
    assert (result.stdout, result.exit_code) == (b"said\n", 5)


def test_output_through_a_process_substitution_is_not_lost(drive: Drive) -> None:
    for _ in range(20):
        result = drive("""exec > >(cat); printf '{"decision":"block"}'; exit 0""")
        assert result.stdout == b'{"decision":"block"}'


def test_what_was_written_last_is_never_lost(drive: Drive) -> None:
    """The exit may be seen before the output."""
    for _ in range(50):
        assert drive("head -c 60000 /dev/zero; printf end; printf err >&2").stdout.endswith(b"\0end")


_MEASURE = """
import asyncio, os, sys
from fairlead import process

def memory():
    with open("/proc/self/status") as status:
        return {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith("Vm") }

import fairlead.watching, fairlead.leftovers, subprocess
def run(script, timeout):
    work = process.Run(argv=("/bin/bash", "-c", script), cwd="/", env={"PATH": os.environ["PATH"]}, timeout=timeout)
    return asyncio.run(process.run(work)) if sys.argv[1] == "asyncio" else process.run_blocking(work)

run("echo warm", 20)
before = memory()["VmHWM"]
result = run(sys.argv[2], float(sys.argv[3]))
print(memory()["VmHWM"] - before, len(result.stdout), len(result.stderr), result.truncated, result.timed_out)
"""


def _growth(driver: str, script: str, timeout: float) -> tuple[int, list[str]]:
    """KiB that the highest amount of memory grew by, and what became of the output."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, driver, script, str(timeout)],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    grown, *rest = done.stdout.split()
    return int(grown), rest


BOMBS = {
    "stdout": ("head -c {0} /dev/zero", 60, False),
    "both streams": ("head -c {0} /dev/zero & head -c {0} /dev/zero >&2; wait", 60, False),
    "without end": ("exec yes", 2, True),
}


@pytest.mark.parametrize("driver", ["poll", "asyncio"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_memory_stays_bounded_whatever_is_written(driver: str, bomb: str) -> None:
    script, timeout, endless = BOMBS[bomb]
    grown, (out, _err, truncated, timed_out) = _growth(driver, script.format(1 << 28), 0.5 if endless else timeout)
    assert grown <= 16 << 10
    assert (out, truncated, timed_out) == (str(STDOUT_LIMIT), "True", str(endless))


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("driver", ["poll", "asyncio"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_soak_memory_stays_bounded_for_a_gigabyte(driver: str, bomb: str) -> None:
    script, timeout, _ = BOMBS[bomb]
    assert _growth(driver, script.format(1 << 30), max(5, timeout))[0] <= 16 << 10


def test_control_communicate_keeps_everything_in_memory() -> None:
    program = """
import asyncio, resource
async def main():
    child = await asyncio.create_subprocess_exec("head", "-c", str(1 << 27), "/dev/zero", stdout=-1)
    await child.communicate()
asyncio.run(main())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > (1 << 17)


def test_reading_goes_on_after_the_limit_so_that_the_hook_can_end(drive: Drive, token: Token) -> None:
    assert drive(f"head -c {8 * STDOUT_LIMIT} /dev/zero; exit 9", timeout=60).exit_code == 9
