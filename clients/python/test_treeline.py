"""Tests of the client against the program: TREELINE=/path/to/treeline python3 test_treeline.py"""

import inspect
import os
import re
import sys
import tempfile
import threading
import unittest
import unittest.mock

import treeline

PROGRAM = os.environ.get("TREELINE", "treeline")


def said(role, text):
    message = {"role": role, "content": text, "timestamp": 1}
    if role == "assistant":
        message.update(content=[{"type": "text", "text": text}], provider="anthropic", model="claude")
    return message


def spelled(name):
    """Converts a name to Python's style. An abbreviation is one word."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = self.folder.name
        self.client = treeline.Client(PROGRAM, env={**os.environ, "HOME": self.home})
        self.addCleanup(self.client.close)

    def talk(self, dialect="pi"):
        """Makes a session with one question and one answer."""
        with self.client.create(self.home, dialect=dialect) as session:
            session.append_message(said("user", "Which tests fail?"))
            session.append_message(said("assistant", "Only the printer."))
            return session.id, session.file

    def test_session(self):
        with self.client.create(self.home) as session:
            self.assertEqual(session.dialect, "omp")
            question = session.append_message(said("user", "Which tests fail?"))["id"]
            session.append_message(said("assistant", "Only the printer."))
            self.assertTrue(os.path.exists(session.file))
            session.branch(question)
            session.append_message(said("assistant", "None."))
            self.assertEqual(len(session.get_children(parent_id=question)), 2)
            context = session.build_session_context()
            self.assertEqual([m["role"] for m in context["messages"]], ["user", "assistant"])
            self.assertEqual(session.build_session_context(leaf_id=None)["messages"], [])
            self.assertEqual([n["depth"] for n in session.get_tree(flat=True)], [0, 1, 1])
            before = session.id
            self.assertIs(session.fork(), session)
            self.assertNotEqual(session.id, before)
        self.assertIsNone(session.handle)

    def test_errors(self):
        with self.client.in_memory() as session:
            with self.assertRaises(treeline.Error) as raised:
                session.branch("00000000")
            self.assertEqual(raised.exception.code, treeline.Error.FAILED)
            self.assertEqual(raised.exception.kind, "unknown-entry")
            self.assertIn("not found", str(raised.exception))
        with self.assertRaises(treeline.Error) as raised:
            self.client.call("create", {"cwd": 7})
        self.assertEqual(raised.exception.code, treeline.Error.INVALID_PARAMS)

    def test_all_sessions(self):
        ids = {self.talk()[0] for _ in range(3)}
        self.assertEqual({row["id"] for row in self.client.iter_catalogue(limit=2)}, ids)
        hits = self.client.search("printer", in_=["assistant"], limit=2)
        self.assertEqual((len(hits["hits"]), hits["more"]), (2, True))
        one, file = self.talk("omp")
        self.assertEqual(self.client.check(ref=one), [])
        report = self.client.convert("pi", ref=one, dir=self.home)
        self.assertTrue(os.path.exists(report["target"]["path"]))
        trashed = self.client.rm(file)
        self.assertFalse(os.path.exists(file))
        self.client.restore(trashed["id"])
        self.assertTrue(os.path.exists(file))
        self.client.history_add("hello there", cwd=self.home)
        self.assertEqual([p["prompt"] for p in self.client.history_search("hel")], ["hello there"])

    def test_runs(self):
        run = self.client.start_run()
        for n in range(5):
            self.client.append_record(run["run"], {"type": "run.status", "status": "running", "n": n})
        self.client.end_run(run["run"], outcome="completed")
        records = list(self.client.iter_read_run(run["id"], limit=2))
        self.assertEqual([r.get("n") for r in records], [0, 1, 2, 3, 4, None])
        self.assertEqual([r["id"] for r in self.client.iter_list_runs()], [run["id"]])

    def test_changes(self):
        _, file = self.talk()
        changes = self.client.changes(ref=file)
        self.assertEqual(next(changes)["event"], "start")
        with self.client.open(file) as session:
            session.append_message(said("user", "And now?"))
        change = next(changes)
        self.assertEqual((change["event"], change["entry"]["parts"][0]["text"]), ("entry", "And now?"))
        changes.close()

    def test_threads(self):
        with self.client.in_memory() as session:
            threads = [threading.Thread(target=session.append_custom_entry, args=("x",)) for _ in range(50)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(len(session.get_entries()), 50)

    def test_end(self):
        session = self.client.in_memory()
        self.assertEqual(self.client.close(), 0)
        with self.assertRaises(treeline.ConnectionLost):
            session.get_entries()

    def test_not_json(self):
        """A value that is not JSON is refused at once. The client can still be used."""
        with self.client.in_memory() as session:
            for value, error in ((float("nan"), ValueError), (b"bytes", TypeError)):
                with self.assertRaises(error):
                    session.append_custom_entry("x", data=value)
            self.assertEqual(session.get_entries(), [])

    def test_callback(self):
        """An error of the callback is reported, and answers are still read."""
        raised = []
        with unittest.mock.patch("sys.excepthook", lambda kind, *_: raised.append(kind)):
            with treeline.Client(PROGRAM, env={**os.environ, "HOME": self.home}, on_notification=lambda *_: 1 / 0) as client:
                with client.create(self.home, dialect="pi", events=True) as session:
                    session.reset_leaf()
                    self.assertEqual(session.get_entries(), [])
        self.assertEqual(raised, [ZeroDivisionError])

    def server(self, script):
        """Makes a program that stands in for the server."""
        program = os.path.join(self.home, "server")
        with open(program, "w") as f:
            f.write("#!" + sys.executable + "\nimport sys\n" + script)
        os.chmod(program, 0o700)
        return program

    def test_deep(self):
        """An answer that is nested too deeply for Python makes its own request fail. The client can still be used."""
        deep = '{"jsonrpc":"2.0","id":1,"result":' + "[" * 200_000 + "]" * 200_000 + "}"
        program = self.server(
            f"sys.stdin.readline(), print({deep!r}, flush=True)\n"
            """sys.stdin.readline(), print('{"jsonrpc":"2.0","id":2,"result":7}', flush=True)"""
        )
        with treeline.Client(program) as client:
            with self.assertRaises(RecursionError):
                client.call("x")
            self.assertEqual(client.call("x"), 7)

    def test_unknown_answers(self):
        """Answers to requests that were never sent are ignored. The client can still be used."""
        answers = ['{"jsonrpc":"2.0","id":%s,"result":1}' % id for id in ("null", "99", '"1"', "[1]")]
        answers.append('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}')
        answers.append('{"jsonrpc":"2.0","result":1}')
        program = self.server(
            f"sys.stdin.readline()\nfor answer in {answers!r}: print(answer, flush=True)\n"
            """print('{"jsonrpc":"2.0","id":1,"result":7}', flush=True), sys.stdin.readline()\n"""
            """print('{"jsonrpc":"2.0","id":2,"result":8}', flush=True)"""
        )
        with treeline.Client(program) as client:
            self.assertEqual([client.call("x"), client.call("x")], [7, 8])

    def test_closed_session(self):
        session = self.client.in_memory()
        session.close()
        with self.assertRaises(treeline.Error):
            session.start_run()  # not a run without a session

    def test_waiting_server(self):
        """Answers are read while a request is written: the server may wait for the former before it reads on."""
        answer = '{"jsonrpc":"2.0","id":%d,"result":"' + "x" * 200_000 + '"}'
        program = self.server(
            "sys.stdin.readline(), sys.stdin.readline(), sys.stdin.read(1)\n"
            f"for id in 1, 2: print({answer!r} % id, flush=True)\n"
            f"sys.stdin.readline(), print({answer!r} % 3, flush=True)\n"
        )
        with treeline.Client(program) as client:
            first = [client._send("x", {}) for _ in range(2)]
            self.assertEqual(len(client.call("x", {"long": "x" * 1_000_000})), 200_000)
            self.assertEqual([len(f.result()) for f in first], [200_000, 200_000])

    def test_cancelled(self):
        """After a timeout the request is cancelled, unless it was carried out nevertheless. Another thread may cancel it."""
        check = "assert '\"method\":\"$/cancelRequest\"' in sys.stdin.readline()\n"
        cancelled = '{"jsonrpc":"2.0","id":%d,"error":{"code":-32800,"message":"cancelled","data":{"kind":"cancelled"}}}'
        program = self.server(
            f"sys.stdin.readline()\n{check}print({cancelled % 1!r}, flush=True)\n"
            f"""sys.stdin.readline()\n{check}print('{{"jsonrpc":"2.0","id":2,"result":7}}', flush=True)\n"""
            f"sys.stdin.readline()\n{check}print({cancelled % 3!r}, flush=True)\n"
        )
        with treeline.Client(program) as client:
            with self.assertRaises(TimeoutError):
                client.sources(timeout=0)
            self.assertEqual(client.call("x", timeout=0), 7)
            call = client.start("x")
            canceller = threading.Thread(target=call.cancel)
            canceller.start()
            with self.assertRaises(treeline.Error) as raised:
                call.result()
            self.assertEqual((raised.exception.code, raised.exception.kind), (treeline.Error.CANCELLED, "cancelled"))
            canceller.join()
        call.cancel()  # does nothing

    def test_timeout_not_reached(self):
        with self.client.in_memory(timeout=60) as session:
            session.append_custom_entry("x", timeout=60)
            self.assertEqual(len(session.get_entries(timeout=60)), 1)

    def test_killed(self):
        """If the server is killed while it writes, the only error is ConnectionLost."""
        program = self.server("""sys.stdin.readline(), print('{"jsonrpc":"2.0","id":1,"res', end="")""")
        with unittest.mock.patch("threading.excepthook") as uncaught, treeline.Client(program) as client:
            with self.assertRaises(treeline.ConnectionLost):
                client.version()
        uncaught.assert_not_called()

    def test_methods_are_those_of_the_server(self):
        """The methods and parameters of this module are those that the running server describes."""
        self.assertEqual(self.client.version()["version"], self.client.discover()["info"]["version"])
        for method in self.client.discover()["methods"]:
            names = {p["name"]: p.get("required", False) for p in method["params"]}
            session = names.pop("session", None)
            classes = [treeline.Client] if session is None else [treeline.Session] if session else [treeline.Client, treeline.Session]
            for owner in classes:
                own = spelled(method["name"].rpartition(".")[2])
                signature = inspect.signature(getattr(owner, own)).parameters
                given = {name: p.default is p.empty for name, p in signature.items() if name not in ("self", "timeout")}
                wanted = {spelled(n): r for n, r in names.items()}
                self.assertEqual({n.rstrip("_"): r for n, r in given.items()}, wanted, method["name"])


if __name__ == "__main__":
    unittest.main()
