"""A proxy for https: CONNECT, then bytes in both directions."""
import socket
import socketserver
import threading


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side has closed


class Proxy:
    def __init__(self, case):
        self.asked = []
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            rbufsize = 0

            def handle(self):
                line = self.rfile.readline().decode().strip()
                proxy.asked.append(line)
                while self.rfile.readline().strip():
                    pass
                host, port = line.split()[1].split(":")
                with socket.create_connection((host, int(port))) as store:
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    back = threading.Thread(target=pump, args=(store, self.connection), daemon=True)
                    back.start()
                    pump(self.connection, store)
                    back.join(5)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)
