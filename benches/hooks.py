"""How long an agent waits for `remembrancer hook claude`: the whole process, from its start until its end is seen.

    python3 benches/hooks.py target/release/remembrancer [RUNS]

Four situations: a recorder that answers, none at the address, one that cannot be reached (connections are not taken), and one that
takes connections and never answers. Each run is a process of its own, as an agent starts it; PreToolUse and PostToolUse by turns,
with some 2 KB of payload. `true` is what starting any process takes here. Standard library alone.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

REMEMBRANCER = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000


def payload(number):
    call = number // 2
    fields = {
        "session_id": f"bench-{call // 250}",
        "transcript_path": "/nowhere/x.jsonl",
        "cwd": "/home/ada/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse" if number % 2 == 0 else "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{call}",
        "tool_input": {"command": f"grep -rn pattern-{call} src " + "x" * 700},
    }
    if number % 2 == 1:
        fields["tool_response"] = {"stdout": "y" * 1200, "stderr": "", "interrupted": False}
    return json.dumps(fields).encode()


def once(arguments, environment, body):
    """Milliseconds from the start of a process until it is gone, and those of them that it computed; it must have been silent and
    successful."""
    read, write = os.pipe()
    out_read, out_write = os.pipe()
    os.write(write, body)
    os.close(write)
    actions = [
        (os.POSIX_SPAWN_DUP2, read, 0),
        (os.POSIX_SPAWN_DUP2, out_write, 1),
        (os.POSIX_SPAWN_DUP2, out_write, 2),
    ]
    begin = time.perf_counter_ns()
    process = os.posix_spawn(arguments[0], arguments, environment, file_actions=actions)
    _, status, used = os.wait4(process, 0)
    end = time.perf_counter_ns()
    os.close(read)
    os.close(out_write)
    said = os.read(out_read, 1)
    os.close(out_read)
    assert status == 0 and said == b"", (status, said)
    return (end - begin) / 1e6, (used.ru_utime + used.ru_stime) * 1e3


def measure(name, arguments, environment):
    runs = [once(arguments, environment, payload(number)) for number in range(RUNS)]
    times, computed = (sorted(column) for column in zip(*runs))
    at = lambda sorted_times, share: sorted_times[min(RUNS - 1, int(RUNS * share))]
    shares = "  ".join(f"p{round(share * 100)} {at(times, share):6.2f} ms" for share in (0.5, 0.9, 0.99))
    print(f"{name:26} {shares}  max {times[-1]:7.2f} ms  computing p50 {at(computed, 0.5):5.2f} ms", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        server = subprocess.Popen(
            [REMEMBRANCER, "serve", "--data", data, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = server.stdout.readline().decode().strip()
            key = subprocess.check_output(
                [REMEMBRANCER, "tokens", "create", "--role", "write", "--name", "bench", "--data", data]
            ).decode().strip()

            def hooks(name, address):
                home = os.path.join(folder, name.replace(" ", "-"))
                os.makedirs(home)
                environment = {"HOME": home, "REMEMBRANCER_URL": address, "REMEMBRANCER_KEY": key}
                measure(name, [REMEMBRANCER, "hook", "claude"], environment)
                status = subprocess.check_output([REMEMBRANCER, "hook", "status"], env=environment, cwd=home)
                print("    " + status.decode().splitlines()[1], flush=True)

            measure("(true)", ["/bin/true"], {})
            hooks("the recorder is there", url)

            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                address = f"http://127.0.0.1:{free.getsockname()[1]}"
            hooks("no recorder", address)

            with socket.socket() as deaf:
                deaf.bind(("127.0.0.1", 0))
                deaf.listen(0)
                full = []
                for _ in range(4):
                    one = socket.socket()
                    one.setblocking(False)
                    one.connect_ex(deaf.getsockname())
                    full.append(one)
                hooks("a recorder out of reach", f"http://127.0.0.1:{deaf.getsockname()[1]}")
                for one in full:
                    one.close()

            with socket.socket() as silent:
                silent.bind(("127.0.0.1", 0))
                silent.listen(4096)
                hooks("a recorder that is silent", f"http://127.0.0.1:{silent.getsockname()[1]}")
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


main()
