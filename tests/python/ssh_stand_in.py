"""In place of ssh: runs the command of another machine on this one, in a folder that stands for the home there.

    ssh_stand_in.py HOST COMMAND

The environment says what is wrong with the connection:
STAND_IN_HOME    the home there
STAND_IN_BANNER  printed on stdout first, as a login shell may
STAND_IN_DELAY   seconds that each piece takes, in both directions
STAND_IN_SPEED   bytes a second, towards this machine
STAND_IN_PID     a file for this process's id, for a test that breaks the connection by killing it
"""
import os
import signal
import subprocess
import sys
import threading
import time

CHUNK = 4096


def number(name):
    return float(os.environ.get(name, 0))


def copy(source, target, speed):
    """Each piece arrives STAND_IN_DELAY after it was sent, in order."""
    delay, pieces, more = number("STAND_IN_DELAY"), [], threading.Condition()

    def deliver():
        while True:
            with more:
                more.wait_for(lambda: pieces)
                due, piece = pieces.pop(0)
            time.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                os.close(target)
                return
            try:
                while piece:
                    piece = piece[os.write(target, piece):]
            except OSError:
                pass  # read on, as a network does

    thread = threading.Thread(target=deliver, daemon=True)
    thread.start()
    while True:
        piece = os.read(source, CHUNK)
        if speed:
            time.sleep(len(piece) / speed)
        with more:
            pieces.append((time.monotonic() + delay, piece))
            more.notify()
        if not piece:
            return thread


def main():
    _, host, command = sys.argv
    for each in (signal.SIGINT, signal.SIGQUIT):  # of this machine's terminal, not of the other one
        signal.signal(each, signal.SIG_IGN)
    if "STAND_IN_PID" in os.environ:
        with open(os.environ["STAND_IN_PID"], "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
    if "STAND_IN_BANNER" in os.environ:
        os.write(1, os.environ["STAND_IN_BANNER"].encode())
    if host == "nowhere":
        print("ssh: Could not resolve hostname nowhere", file=sys.stderr)
        return 255
    if host == "asks":
        os.write(2, b"password: ")
        sys.stdin.buffer.read()
        return 255
    there = subprocess.Popen(  # pylint: disable=consider-using-with
        ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.environ["STAND_IN_HOME"],
        start_new_session=True, bufsize=0,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGQUIT)])
    threading.Thread(target=copy, args=(0, there.stdin.fileno(), 0), daemon=True).start()
    copy(there.stdout.fileno(), 1, number("STAND_IN_SPEED")).join()
    code = there.wait()
    return code if code >= 0 else 255


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a thread may still wait for this machine
