# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP on a port of the loopback, passed on to the agent's socket."""
import json
import os
import socket
import threading


def _pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(path):
    """The address at which the socket `path` can be reached, for as long as this process lives."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(path)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return "http://127.0.0.1:%d" % listener.getsockname()[1]


def write_kubeconfig(agent):
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "corehold",
              "clusters": [{"name": "corehold", "cluster": {"server": serve(agent.socket)}}],
              "contexts": [{"name": "corehold", "context": {"cluster": "corehold"}}]}
    with open(os.path.join(agent.root, "kubeconfig"), "w", encoding="utf-8") as file:
        json.dump(config, file)
