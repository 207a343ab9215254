"""A client of `treeline rpc` in Python, with nothing but the standard library.

    python3 rpc.py [TREELINE [FOLDER]]

TREELINE is the program (default: treeline), FOLDER where the session goes (default: a temporary one).
"""

import json
import os
import subprocess
import sys
import tempfile


class TreelineError(Exception):
    """What the store says when it cannot do what was asked."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Treeline:
    """The store: every method of docs/rpc.md is a method here, with its parameters by name."""

    def __init__(self, program="treeline"):
        self.process = subprocess.Popen([program, "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def __getattr__(self, method):
        return lambda **params: self.call(method, params)

    def call(self, method, params):
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise TreelineError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def end(self):
        """Ends the input: all sessions are flushed and closed."""
        self.process.stdin.close()
        return self.process.wait()


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "treeline"
    folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    store = Treeline(program)

    # A session for this directory. Its file appears with the first message.
    session = store.create(cwd=os.getcwd(), sessionDir=folder)
    handle = session["session"]
    question = store.appendMessage(session=handle, message={"role": "user", "content": "Which tests fail?", "timestamp": 1})
    print("on disk after the question:", question["durable"] and os.path.exists(session["file"]))
    store.appendMessage(session=handle, message={
        "role": "assistant", "provider": "anthropic", "model": "claude", "timestamp": 2,
        "content": [{"type": "text", "text": "Two: parser and printer."}],
    })

    # Go back to the question and try again: another branch. Nothing is lost.
    store.branch(session=handle, id=question["id"])
    store.appendMessage(session=handle, message={
        "role": "assistant", "provider": "anthropic", "model": "claude", "timestamp": 3,
        "content": [{"type": "text", "text": "Only the printer."}],
    })
    tree = store.getTree(session=handle)
    print("answers to the question:", len(tree[0]["children"]))

    # What the model would see now.
    context = store.buildSessionContext(session=handle)
    for message in context["messages"]:
        text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
        print(f'{message["role"]}: {text}')
    print("model:", context["models"]["default"])

    try:
        store.branch(session=handle, id="00000000")
    except TreelineError as e:
        print(f"error {e.code}: {e}")

    store.close(session=handle)
    print("entries in the file:", len(store.loadEntries(path=session["file"])) - 1)
    print("exit code:", store.end())


main()
