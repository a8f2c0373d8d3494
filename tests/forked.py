"""Commands in processes of their own, which need not import again what a service takes.

They are forked from one that has imported it, because that is most of a start. From there on all is their own: the
folder, the variables, the streams, the signals.
"""

import multiprocessing
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    ["mccpo.cli.commands.serve", "mccpo.serve.pages", "uvicorn.protocols.http.auto", "uvicorn.lifespan.on", "aiosqlite"]
)
CALL = """
import os, sys
os.dup2(out.fileno(), 1)
os.dup2(os.open(err, os.O_WRONLY), 2)
sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)
out.close()
os.chdir(folder)
os.environ.clear()
os.environ.update(environ)
exec(before)
from mccpo.cli import main
sys.exit(main(tokens))
"""


class Forked:
    """The process of a call."""

    def __init__(self, process, out, err):
        self.process, self.out, self.err = process, out, err

    def signal(self, number):
        os.kill(self.process.pid, number)

    def ended(self, seconds=30):
        """Its exit code, once it has ended; a negative one is the signal that ended it."""
        self.process.join(seconds)
        assert self.process.exitcode is not None, "it does not end"
        return self.process.exitcode

    def told(self):
        """What it wrote to stderr until it ended."""
        self.ended()
        return self.err.read_text()


@contextmanager
def forked(*tokens, before="", folder=None, **variables):
    """The process of a call of `mccpo` in a folder, which is gone afterwards; `before` is done in it first."""
    with tempfile.NamedTemporaryFile() as told:
        read, write = FORKING.Pipe(duplex=False)
        streams = {"out": write, "err": told.name}
        place = {"folder": str(folder or Path.cwd()), "environ": {**os.environ, **variables}}
        call = {"before": before, "tokens": [str(token) for token in tokens]}
        process = FORKING.Process(target=exec, args=(CALL, streams | place | call), daemon=True)
        process.start()
        write.close()  # the process has its own
        with read, os.fdopen(os.dup(read.fileno())) as out:
            try:
                yield Forked(process, out, Path(told.name))
            finally:
                process.kill()
                process.join()
                process.close()
