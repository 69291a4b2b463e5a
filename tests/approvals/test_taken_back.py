"""A question whose event was taken back: nobody listens any more, and no answer is taken for one that was heard."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from fairlead import Hooks, PreToolUse
from tests.approvals.conftest import PATIENCE, eventually
from tests.conftest import Home

ASKING = '[[hook]]\non = "PreToolUse"\napproval = "look"\n'


async def test_the_connection_is_closed_and_not_made_again(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", ASKING)
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as service:
        service.setblocking(False)
        address = f"http://127.0.0.1:{service.getsockname()[1]}"
        environ = {**place.environ, "M_SERVER_URL": address, "M_RUN_ID": "r", "M_API_KEY": "k"}
        hooks = Hooks.load(str(place.project), environ=environ)
        firing = asyncio.ensure_future(hooks.fire(PreToolUse(tool_name="Bash", tool_input={"command": "ls"})))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE):
            line, _ = await loop.sock_accept(service)
            with line:
                assert (await loop.sock_recv(line, 1 << 16)).startswith(b"POST")
                firing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await firing
                with contextlib.suppress(ConnectionResetError):
                    while await loop.sock_recv(line, 1 << 16):
                        pass
        eventually(lambda: threading.active_count() <= before, "the end of the thread that asks")
        with contextlib.suppress(BlockingIOError):
            service.accept()[0].close()
            raise AssertionError("it was asked again")
