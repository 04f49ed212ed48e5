"""Ports for servers that must be told one before they start."""
import socket


def hold_port():
    """A socket that holds a free port of loopback. As it does not listen, a server that sets
    SO_REUSEADDR can take the port; nobody else is given it, also while the server is down."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held
