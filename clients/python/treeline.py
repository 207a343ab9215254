"""A client of treeline, the session store for coding agents. It needs Python 3.9 and its standard library.

    import treeline

    with treeline.Client() as client, client.create("/work/project") as session:
        session.append_user("Which tests fail?")
        print(session.build_parts()["messages"])

A Client starts `treeline rpc` and has one method for each method of docs/rpc.md that needs no open session. A Session has the
others, which use its handle. Names are in Python's style (append_message for appendMessage). An omitted parameter is not
sent. Methods raise Error. Several threads may use a client at once.

Every method takes a timeout in seconds. When it is over, the request is cancelled. The method then waits for the server's
answer: it raises TimeoutError if the request was cancelled, and returns the result if it was carried out nevertheless, as an
append is once it has begun. KeyboardInterrupt cancels the request, too, but is raised at once. Client.start returns a Call,
which another thread may cancel.
"""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import threading
from concurrent.futures import Future, wait
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union

__all__ = ["Call", "Client", "Session", "Error", "ConnectionLost", "UNSET"]


class Error(Exception):
    """An error answer of the server. Programs should check the code and the kind, such as "unknown-entry"; the text is for people."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    FAILED = -32000
    CANCELLED = -32800

    def __init__(self, code: int, message: str, kind: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind


class ConnectionLost(Exception):
    """The server has ended, or the client was closed."""


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()
"""The value of an omitted parameter for which None means null."""


# <shapes> from rpc.discover; go test ./clients -update writes them
class _AgentContext(TypedDict):
    messages: List[AgentMessage]


class AgentContext(_AgentContext, total=False):
    configuredThinkingLevel: Any
    hasPersistedMCPToolSelection: bool
    injectedTtsrRules: List[str]
    mode: str
    modeData: Any
    model: Any
    models: Dict[str, str]
    selectedMCPToolNames: List[str]
    serviceTier: Any
    thinkingLevel: Any


AgentEntry = Dict[str, Any]
AgentHeader = Dict[str, Any]
AgentMessage = Dict[str, Any]


class _AgentRow(TypedDict):
    cwd: str
    id: str
    path: str


class AgentRow(_AgentRow, total=False):
    allMessagesText: str
    created: Any
    fileSize: int
    firstMessage: str
    messageCount: int
    modified: Any
    name: str
    parentSessionPath: str
    title: str


class _AnswerUsage(TypedDict):
    input: int
    output: int


class AnswerUsage(_AnswerUsage, total=False):
    cacheRead: int
    cacheWrite: int
    cost: float
    total: int


class _Appended(TypedDict):
    durable: bool
    id: str


class Appended(_Appended, total=False):
    foreign: int
    outcome: str


class CancelParams(TypedDict):
    id: Any


class _Change(TypedDict):
    event: str
    watch: str


class Change(_Change, total=False):
    cwd: str
    dialect: str
    entry: Entry
    kind: str
    line: int
    lost: int
    message: str
    offset: int
    path: str
    session: str
    sessions: int
    title: str


class Conversion(TypedDict):
    carried: int
    dropped: int
    losses: List[Loss]
    lossless: bool
    mapped: int
    source: Converted
    target: Converted


class Converted(TypedDict):
    dialect: str
    entries: int
    id: str
    path: str
    view: View


class _Entry(TypedDict):
    id: str
    kind: str
    parentId: Optional[str]
    role: Optional[str]
    time: Optional[str]
    type: str


class Entry(_Entry, total=False):
    display: bool
    here: bool
    label: str
    leaf: bool
    onPath: bool
    parts: List[Part]
    text: str


class Group(TypedDict):
    cost: float
    messages: int
    name: str
    sessions: int
    tokens: Tokens


class _Hit(TypedDict):
    cwd: str
    entry: Optional[str]
    field: str
    kind: str
    marks: List[List[int]]
    onPath: bool
    path: str
    ref: str
    role: Optional[str]
    session: Optional[str]
    snippet: str
    time: Optional[str]
    title: str
    type: str


class Hit(_Hit, total=False):
    dialect: str
    label: str
    line: int
    run: str
    score: float


class Image(TypedDict):
    data: str
    mime: str


class LoadedState(TypedDict):
    dialect: str
    resume: List[AgentMessage]
    state: Any
    version: str


class _Loss(TypedDict):
    became: str
    count: int
    kind: str
    pointer: str


class Loss(_Loss, total=False):
    entries: List[str]
    lines: List[int]


class ModelRequest(TypedDict):
    answered: bool
    body: Any
    model: str
    provider: str


OpenRPCDocument = Dict[str, Any]


class Opened(TypedDict):
    dialect: str
    file: Optional[str]
    id: str
    leafId: Optional[str]
    session: str


class Page(TypedDict):
    next: Optional[str]
    problems: List[str]
    rows: List[Row]
    total: int


class _Part(TypedDict):
    type: str


class Part(_Part, total=False):
    arguments: Any
    blob: str
    callId: str
    data: str
    id: str
    isError: bool
    json: Any
    mime: str
    name: str
    parts: List[Part]
    session: str
    size: int
    text: str
    url: str


class _PartInput(TypedDict):
    type: str


class PartInput(_PartInput, total=False):
    arguments: Any
    callId: str
    data: str
    id: str
    isError: bool
    mime: str
    name: str
    parts: List[PartInput]
    signature: str
    text: str


class _PartsContext(TypedDict):
    messages: List[PartsMessage]


class PartsContext(_PartsContext, total=False):
    problems: List[Problem]


class PartsMessage(TypedDict):
    parts: List[Part]
    role: str


class _Plan(TypedDict):
    applied: bool
    backup: Optional[str]
    path: str
    repairs: List[Repair]
    torn: Optional[str]


class Plan(_Plan, total=False):
    foreign: int
    held: List[str]


class Problem(TypedDict):
    advice: str
    kind: str
    line: int
    message: str
    offset: int
    path: str


class Prompt(TypedDict):
    cwd: Optional[str]
    id: int
    prompt: str
    time: str
    uses: List[Use]


class RecentSession(TypedDict):
    fullName: str
    mtime: float
    name: str
    path: str


class _Recorded(TypedDict):
    type: str


class Recorded(_Recorded, total=False):
    seq: int


class Recording(TypedDict):
    file: str
    id: str
    run: str


class _Repair(TypedDict):
    action: str
    change: bool
    kind: str
    line: int
    message: str
    offset: int


class Repair(_Repair, total=False):
    entry: str


class _Resume(TypedDict):
    args: List[str]
    command: str
    cwd: str
    dialect: str
    env: List[str]
    id: str
    leafId: Optional[str]
    path: str


class Resume(_Resume, total=False):
    conversion: Conversion
    holders: List[str]
    madeFrom: str
    problems: List[Problem]


class _Row(TypedDict):
    created: Optional[str]
    cwd: str
    dialect: str
    id: str
    messages: Optional[int]
    modified: str
    path: str
    prompt: str
    size: int
    title: str


class Row(_Row, total=False):
    active: Optional[str]
    branches: int
    cost: float
    depth: int
    entries: int
    has: List[str]
    models: List[str]
    origin: str
    parentSession: str
    problems: int
    tokens: Tokens


class _Run(TypedDict):
    created: Optional[str]
    cwd: str
    id: str
    modified: str
    outcome: Optional[str]
    path: str
    prompt: str
    size: int


class Run(_Run, total=False):
    model: str
    session: str


class RunPage(TypedDict):
    next: Optional[str]
    problems: List[str]
    runs: List[Run]
    total: int


class RunRecords(TypedDict):
    ended: bool
    header: Any
    next: Optional[str]
    path: str
    problems: List[str]
    records: List[Any]
    total: int


class Saved(TypedDict):
    updatedAt: str
    version: str


class SearchResult(TypedDict):
    hits: List[Hit]
    matched: str
    more: bool
    problems: List[str]


class _SessionEvent(TypedDict):
    entryId: Optional[str]
    file: Optional[str]
    session: Optional[str]


class SessionEvent(_SessionEvent, total=False):
    foreign: int
    problem: Problem


class _Source(TypedDict):
    dialect: Optional[str]
    dialects: List[str]
    exists: bool
    newest: Optional[str]
    path: str
    sessions: int
    size: int
    why: str


class Source(_Source, total=False):
    origin: str
    unread: str


class _Stats(TypedDict):
    copies: int
    cost: float
    messages: int
    sessions: int
    tokens: Tokens


class Stats(_Stats, total=False):
    agents: List[Group]
    days: List[Group]
    models: List[Group]
    projects: List[Group]


class Tokens(TypedDict):
    cacheRead: int
    cacheWrite: int
    input: int
    output: int
    total: int


class _ToolInput(TypedDict):
    name: str


class ToolInput(_ToolInput, total=False):
    description: str
    parameters: Any


class Trashed(TypedDict):
    cwd: str
    dialect: str
    id: str
    path: str
    removed: str
    session: str
    size: int
    title: str


class _TreeNode(TypedDict):
    entry: AgentEntry


class TreeNode(_TreeNode, total=False):
    children: List[TreeNode]
    depth: int
    id: str
    label: str
    parentId: Optional[str]


class Use(TypedDict):
    cwd: str
    dialect: str
    entry: str
    path: str
    session: str
    time: str


class _Version(TypedDict):
    arch: str
    go: str
    os: str
    version: str


class Version(_Version, total=False):
    date: str
    modified: bool
    revision: str


class View(TypedDict):
    calls: int
    images: int
    messages: int
    results: int
    thinking: int


class Watching(TypedDict):
    watch: str



# </shapes>


class _Caller:
    """The methods that the generated ones call."""

    def _call(
        self, method: str, params: Dict[str, Any], needed: Tuple[str, ...] = (), timeout: Optional[float] = None
    ) -> Any:
        raise NotImplementedError

    def _opened(self, result: Any) -> Any:
        raise NotImplementedError

    def _pages(
        self,
        method: str,
        rows: str,
        params: Dict[str, Any],
        needed: Tuple[str, ...] = (),
        timeout: Optional[float] = None,
    ) -> Iterator[Any]:
        """Yields the elements of all pages. The timeout is for each page."""
        while True:
            page = self._call(method, params, needed, timeout)
            yield from page[rows]
            if page["next"] is None:
                return
            params = {**params, "cursor": page["next"]}


# <client> from rpc.discover; go test ./clients -update writes it
class _ClientMethods(_Caller):
    def create(
        self,
        cwd: str,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        terminal: Optional[str] = None,
        events: Optional[bool] = None,
        id: Optional[str] = None,
        parent_session: Optional[str] = None,
        force_rewrite: Optional[bool] = None,
        force: Optional[bool] = None,
        defer_until: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Starts a session.

        cwd: the working directory of the session
        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        terminal: the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used
        which session; the default is the server's own
        events: sends notifications of what happens to the session
        id: the id of the new session; the default is generated
        parent_session: the file of the session that this one continues
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        force: writes what is otherwise refused because it looks like a mistake: a working directory that does not exist
        or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose
        first kept entry is not before it
        defer_until: when the file is created: with the first message of the assistant, with the first message of user
        or assistant, or at once; the default is message, for omp-doc and operator-doc assistant, for wave-doc never;
        with level always the first append creates the file, and flush always does
        """
        return self._opened(self._call(
            "create",
            {"cwd": cwd, "sessionDir": session_dir, "dialect": dialect, "profile": profile, "terminal": terminal, "events": events, "id": id, "parentSession": parent_session, "forceRewrite": force_rewrite, "force": force, "deferUntil": defer_until},
            ("cwd",),
            timeout=timeout,
        ))

    def open(
        self,
        path: str,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        terminal: Optional[str] = None,
        events: Optional[bool] = None,
        read_only: Optional[bool] = None,
        replace_unreadable: Optional[bool] = None,
        force_rewrite: Optional[bool] = None,
        force: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Opens a file. If it is missing or empty, a session starts there; its header is written at once (pi, if it is
        missing: with the first message). A file of an old version is migrated, the original kept as <file>.v<N>.bak. A
        file that is not a session is refused and left as it is; with replaceUnreadable: true it is renamed to
        <file>.unreadable-<time> and a session starts. sessionDir is for newSession, fork and createBranchedSession; the
        default is the file's folder. With readOnly: true nothing is written: a missing file is an error, and an old
        version is migrated in memory.

        path: the file
        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        terminal: the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used
        which session; the default is the server's own
        events: sends notifications of what happens to the session
        read_only: opens an existing session for reading; nothing is written, and appends are refused
        replace_unreadable: renames a file that is not a session and starts one
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        force: writes what is otherwise refused because it looks like a mistake: a working directory that does not exist
        or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose
        first kept entry is not before it
        """
        return self._opened(self._call(
            "open",
            {"path": path, "sessionDir": session_dir, "dialect": dialect, "profile": profile, "terminal": terminal, "events": events, "readOnly": read_only, "replaceUnreadable": replace_unreadable, "forceRewrite": force_rewrite, "force": force},
            ("path",),
            timeout=timeout,
        ))

    def continue_recent(
        self,
        cwd: str,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        terminal: Optional[str] = None,
        events: Optional[bool] = None,
        force_rewrite: Optional[bool] = None,
        force: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Opens the session that this terminal used last in cwd, otherwise the newest there, or starts one. Sessions of
        other profiles do not count.

        cwd: the working directory of the session
        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        terminal: the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used
        which session; the default is the server's own
        events: sends notifications of what happens to the session
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        force: writes what is otherwise refused because it looks like a mistake: a working directory that does not exist
        or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose
        first kept entry is not before it
        """
        return self._opened(self._call(
            "continueRecent",
            {"cwd": cwd, "sessionDir": session_dir, "dialect": dialect, "profile": profile, "terminal": terminal, "events": events, "forceRewrite": force_rewrite, "force": force},
            ("cwd",),
            timeout=timeout,
        ))

    def in_memory(
        self,
        *,
        cwd: Optional[str] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Starts a session that is never stored.

        cwd: the working directory that its header names
        dialect: the agent's format, such as omp or pi
        """
        return self._opened(self._call("inMemory", {"cwd": cwd, "dialect": dialect}, timeout=timeout))

    def fork_from(
        self,
        source: str,
        cwd: str,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        terminal: Optional[str] = None,
        events: Optional[bool] = None,
        force_rewrite: Optional[bool] = None,
        force: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Copies the session in the file source, all branches, into a new one for cwd. The source is only read.

        source: the file that is copied
        cwd: the working directory of the session
        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        terminal: the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used
        which session; the default is the server's own
        events: sends notifications of what happens to the session
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        force: writes what is otherwise refused because it looks like a mistake: a working directory that does not exist
        or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose
        first kept entry is not before it
        """
        return self._opened(self._call(
            "forkFrom",
            {"source": source, "cwd": cwd, "sessionDir": session_dir, "dialect": dialect, "profile": profile, "terminal": terminal, "events": events, "forceRewrite": force_rewrite, "force": force},
            ("source", "cwd",),
            timeout=timeout,
        ))

    def build_session_context(
        self,
        *,
        entries: Optional[List[Any]] = None,
        leaf_id: Any = UNSET,
        whole: Optional[bool] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> AgentContext:
        """What the model would see: of a session or, without one, of entries. Without leafId it is seen from the leaf,
        of entries from the last; an unknown id means the last entry.

        entries: entries to use instead of a session
        leaf_id: the entry to look from; null is the place before the first entry
        whole: restore long texts that the agent's format cut; those that this server appended are whole in any case
        dialect: the agent's format, such as omp or pi
        """
        return self._call(
            "buildSessionContext",
            {"entries": entries, "leafId": leaf_id, "whole": whole, "dialect": dialect},
            ("leafId",),
            timeout=timeout,
        )

    def start_run(
        self,
        *,
        session_id: Optional[str] = None,
        dialect: Optional[str] = None,
        header: Any = UNSET,
        timeout: Optional[float] = None,
    ) -> Recording:
        """Starts a run of an open session, of the session with that id, or of none. header is the run's first record; a
        missing type, id, session, start or version is filled in. dialect: "codelia" keeps the log where codelia
        does.

        session_id: the id of the session that the run belongs to
        dialect: the agent's format, such as omp or pi
        header: members of the run's first record
        """
        return self._call(
            "startRun",
            {"sessionId": session_id, "dialect": dialect, "header": header},
            ("header",),
            timeout=timeout,
        )

    def append_record(self, run: str, record: Dict[str, Any], *, timeout: Optional[float] = None) -> Recorded:
        """Appends a record. run_id, ts, and the seq of an llm.request or llm.response are filled in if they are
        missing. An invalid record is refused (−32602); the run continues.

        run: the handle of a run
        record: a record with a type
        """
        return self._call("appendRecord", {"run": run, "record": record}, ("run", "record",), timeout=timeout)

    def continue_run(self, ref: str, *, timeout: Optional[float] = None) -> Recording:
        """Resumes the recording of a run that has not ended.

        ref: a run: its path, its id or the beginning of it (also agent:id), or @last
        """
        return self._call("continueRun", {"ref": ref}, ("ref",), timeout=timeout)

    def end_run(
        self,
        run: str,
        *,
        outcome: Optional[str] = None,
        final: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Appends run.end, unless appendRecord already did, and closes the log.

        run: the handle of a run
        outcome: how it ended; may be absent if run.end was appended
        final: the last text of the assistant
        """
        return self._call("endRun", {"run": run, "outcome": outcome, "final": final}, ("run",), timeout=timeout)

    def load_entries(
        self,
        path: str,
        *,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[AgentEntry]:
        """The header and all records of a file, not migrated; [] if it is missing or has no header. Nothing is
        written.

        path: the file
        dialect: the agent's format, such as omp or pi
        """
        return self._call("loadEntries", {"path": path, "dialect": dialect}, ("path",), timeout=timeout)

    def parse_entries(self, text: str, *, timeout: Optional[float] = None) -> List[Any]:
        """The JSON values of a text, line by line; lines that are not JSON are skipped.

        text: JSON Lines
        """
        return self._call("parseEntries", {"text": text}, ("text",), timeout=timeout)

    def migrate_entries(
        self,
        entries: List[Any],
        *,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[AgentEntry]:
        """The same entries in the current version of the format. Entries without a header count as the oldest
        version.

        entries: entries as the agent writes them
        dialect: the agent's format, such as omp or pi
        """
        return self._call("migrateEntries", {"entries": entries, "dialect": dialect}, ("entries",), timeout=timeout)

    def find_most_recent(
        self,
        dir: str,
        *,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Optional[str]:
        """The path of the newest session in a folder, or null.

        dir: the folder
        dialect: the agent's format, such as omp or pi
        """
        return self._call("findMostRecent", {"dir": dir, "dialect": dialect}, ("dir",), timeout=timeout)

    def get_recent_sessions(
        self,
        session_dir: str,
        *,
        limit: Optional[int] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[RecentSession]:
        """The newest sessions of a folder. mtime is in milliseconds since 1970, name is cut to 40 characters.

        session_dir: the folder
        limit: how many; the default is 3
        dialect: the agent's format, such as omp or pi
        """
        return self._call(
            "getRecentSessions",
            {"sessionDir": session_dir, "limit": limit, "dialect": dialect},
            ("sessionDir",),
            timeout=timeout,
        )

    def list(
        self,
        cwd: str,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        texts: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> List[AgentRow]:
        """The sessions of a directory as the agent's own program lists them, newest first; for omp those in the folders
        of both its program and its document. pi has name? instead of title? and takes modified from the messages, omp
        from the file. Equal times are ordered by file name, descending. wave-doc is ordered by id, wave by the last
        message, codelia by the last save; codelia means its sessions. Only files that changed since the last list are
        read, and of codelia's states that name no directory the beginnings, with those of their runs.

        cwd: the working directory of the session
        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        texts: false leaves out allMessagesText
        """
        return self._call(
            "list",
            {"cwd": cwd, "sessionDir": session_dir, "dialect": dialect, "profile": profile, "texts": texts},
            ("cwd",),
            timeout=timeout,
        )

    def list_all(
        self,
        *,
        session_dir: Optional[str] = None,
        dialect: Optional[str] = None,
        profile: Optional[str] = None,
        texts: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> List[AgentRow]:
        """The same for all directories, or for one folder or profile.

        session_dir: the folder of its file; the default is the agent's own
        dialect: the agent's format, such as omp or pi
        profile: a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none
        texts: false leaves out allMessagesText
        """
        return self._call(
            "listAll",
            {"sessionDir": session_dir, "dialect": dialect, "profile": profile, "texts": texts},
            timeout=timeout,
        )

    def save_state(
        self,
        state: Dict[str, Any],
        *,
        version: Optional[str] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Saved:
        """Saves the resume state of a session, for an agent (codelia) that keeps it apart from the run log. It replaces
        the previous state. A schema_version other than 1 is refused, and a state of another one is not replaced.

        state: {session_id, messages, updated_at?, run_id?, invoke_seq?, workspace_root?, meta?}
        version: that of the last result, or new: fails if another program saved meanwhile
        dialect: codelia-state (the default: the agent's database) or codelia-state-doc (a JSON file)
        """
        return self._call(
            "saveState",
            {"state": state, "version": version, "dialect": dialect},
            ("state",),
            timeout=timeout,
        )

    def load_state(
        self,
        id: str,
        *,
        cwd: Optional[str] = None,
        root: Optional[str] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Optional[LoadedState]:
        """The state of a session, or null. resume is what the model sees first: the messages without dangling tool
        calls and results, results without a tool_call_id and notices of earlier resumes; nothing else is left out. If
        cwd or root differ from the state's, or from the directory of its last run if it names none, a system message
        says so after those that begin the conversation. Nothing is written.

        id: the id of the session
        cwd: the working directory now
        root: the workspace now
        dialect: codelia-state (the default: the agent's database) or codelia-state-doc (a JSON file)
        """
        return self._call(
            "loadState",
            {"id": id, "cwd": cwd, "root": root, "dialect": dialect},
            ("id",),
            timeout=timeout,
        )

    def catalogue(
        self,
        *,
        source: Optional[str] = None,
        cwd: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        model: Optional[str] = None,
        title: Optional[str] = None,
        has: Optional[List[str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Page:
        """The sessions of all agents, newest first, page by page. The catalogue is updated first, by reading the files
        that changed. total counts the rows of all pages. A session that is used while you page moves to the front, and
        is not on a later page.

        source: the name of a dialect, or the folder of a source
        cwd: only sessions of that directory
        since: only from this time on, such as 2026-01-31T12:00:00Z
        until: only before this time
        model: a part of the name of a model that answered, or a pattern with * and ?
        title: a pattern with * and ? for the title or, without one, the first prompt
        has: all of these must occur: label, branch, compaction, problem, blob, run
        limit: the maximum number of rows, up to 1000; the default is 100
        cursor: next of the previous page
        """
        return self._call(
            "catalogue",
            {"source": source, "cwd": cwd, "since": since, "until": until, "model": model, "title": title, "has": has, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def iter_catalogue(
        self,
        *,
        source: Optional[str] = None,
        cwd: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        model: Optional[str] = None,
        title: Optional[str] = None,
        has: Optional[List[str]] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Iterator[Row]:
        """All rows of catalogue, page by page."""
        return self._pages(
            "catalogue",
            "rows",
            {"source": source, "cwd": cwd, "since": since, "until": until, "model": model, "title": title, "has": has, "limit": limit},
            timeout=timeout,
        )

    def search(
        self,
        query: str,
        *,
        in_: Optional[List[str]] = None,
        regexp: Optional[bool] = None,
        case: Optional[bool] = None,
        source: Optional[str] = None,
        cwd: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        label: Optional[str] = None,
        rank: Optional[bool] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """Finds entries in all sessions and runs, newest first. treeline search --help explains the query.

        query: words that must all occur in one entry; 'a phrase', head*, *head*, -word
        in_: the parts of entries: user, assistant, tool, thinking, other; the default is all
        regexp: the query is a regular expression (RE2)
        case: distinguishes upper and lower case
        source: the name of a dialect, or the folder of a source
        cwd: only sessions of that directory
        since: only from this time on, such as 2026-01-31T12:00:00Z
        until: only before this time
        label: only entries with that label, in any case; * for any label
        rank: best match first instead of newest first
        limit: the maximum number of hits, up to 1000; the default is 20
        """
        return self._call(
            "search",
            {"query": query, "in": in_, "regexp": regexp, "case": case, "source": source, "cwd": cwd, "since": since, "until": until, "label": label, "rank": rank, "limit": limit},
            ("query",),
            timeout=timeout,
        )

    def stats(
        self,
        *,
        by: Optional[List[str]] = None,
        source: Optional[str] = None,
        cwd: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        model: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Stats:
        """What sessions used: sessions, messages, tokens and cost, in total and by agent, model, project and day. Forks
        and copies are not counted twice. Only files that changed are read.

        by: the lists of the result: agent, model, project, day; the default is all
        source: the name of a dialect, or the folder of a source
        cwd: only sessions of that directory
        since: only from this time on, such as 2026-01-31T12:00:00Z
        until: only before this time
        model: a part of the name of a model that answered, or a pattern with * and ?
        """
        return self._call(
            "stats",
            {"by": by, "source": source, "cwd": cwd, "since": since, "until": until, "model": model},
            timeout=timeout,
        )

    def sources(self, *, timeout: Optional[float] = None) -> List[Source]:
        """The places where treeline looks for sessions."""
        return self._call("sources", {}, timeout=timeout)

    def watch(
        self,
        *,
        ref: Optional[str] = None,
        cwd: Optional[str] = None,
        dialect: Optional[str] = None,
        last: Optional[int] = None,
        from_start: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Watching:
        """Follows what any program writes, to all sessions or to one. Changes are sent as notifications change until
        unwatch.

        ref: one session: its path, its id or the beginning of it (also agent:id), or @last; the default is all
        cwd: only sessions of that directory
        dialect: the agent's format, such as omp or pi
        last: how many of the last entries are sent first
        from_start: sends all entries first
        """
        return self._call(
            "watch",
            {"ref": ref, "cwd": cwd, "dialect": dialect, "last": last, "fromStart": from_start},
            timeout=timeout,
        )

    def unwatch(self, watch: str, *, timeout: Optional[float] = None) -> None:
        """Ends a watch. No change is sent after the result.

        watch: the handle of a watch
        """
        return self._call("unwatch", {"watch": watch}, ("watch",), timeout=timeout)

    def check(
        self,
        *,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[Problem]:
        """Lists everything that is wrong with a session: an open one, or the one that ref names. Nothing is changed.

        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        """
        return self._call("check", {"ref": ref, "dialect": dialect}, timeout=timeout)

    def repair(
        self,
        ref: str,
        *,
        apply: Optional[bool] = None,
        reattach: Optional[bool] = None,
        force_rewrite: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Plan:
        """Plans the repair of a session file, and repairs it with apply: true. The original is kept next to it.

        ref: a session: its path, its id or the beginning of it (also agent:id), or @last
        apply: repairs the file; otherwise the repair is only planned
        reattach: attaches entries whose parent is missing to the entry before them
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        """
        return self._call(
            "repair",
            {"ref": ref, "apply": apply, "reattach": reattach, "forceRewrite": force_rewrite},
            ("ref",),
            timeout=timeout,
        )

    def convert(
        self,
        to: str,
        *,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        leaf_id: Optional[str] = None,
        dir: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Conversion:
        """Creates a session of another agent from an open one, or from the one that ref names, which is only read. The
        report lists what became of everything.

        to: the dialect of the new session
        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        leaf_id: converts only the path to this entry
        dir: the folder of the new file; the default is the agent's own
        """
        return self._call(
            "convert",
            {"to": to, "ref": ref, "dialect": dialect, "leafId": leaf_id, "dir": dir},
            ("to",),
            timeout=timeout,
        )

    def resume_command(
        self,
        *,
        agent: Optional[str] = None,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        leaf_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Resume:
        """The command that continues an open session, or the one that ref names, in its own agent or in another one.
        Another agent continues a converted copy. With leafId that entry is made the leaf first; if the agent's format
        has no leaf, the path to it becomes a separate session.

        agent: the agent that continues it, as a dialect; the default is its own
        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        leaf_id: the entry to continue from; the default is the leaf
        """
        return self._call(
            "resumeCommand",
            {"agent": agent, "ref": ref, "dialect": dialect, "leafId": leaf_id},
            timeout=timeout,
        )

    def rm(self, ref: str, *, force_rewrite: Optional[bool] = None, timeout: Optional[float] = None) -> Trashed:
        """Moves a session to treeline's trash. The id in the result is its name there.

        ref: a session: its path, its id or the beginning of it (also agent:id), or @last
        force_rewrite: replaces or removes the file even while another program has it open for writing; what that
        program writes later is lost
        """
        return self._call("rm", {"ref": ref, "forceRewrite": force_rewrite}, ("ref",), timeout=timeout)

    def restore(self, id: str, *, timeout: Optional[float] = None) -> Trashed:
        """Puts a session back from the trash, byte for byte. It never overwrites another file.

        id: the id in the trash, or the beginning of it
        """
        return self._call("restore", {"id": id}, ("id",), timeout=timeout)

    def list_trash(self, *, timeout: Optional[float] = None) -> List[Trashed]:
        """What is in the trash, the last removed first."""
        return self._call("listTrash", {}, timeout=timeout)

    def history_add(
        self,
        prompt: str,
        *,
        cwd: Optional[str] = None,
        db: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Adds a prompt to the history. It is written when the method returns.

        prompt: what was typed
        cwd: the working directory
        db: the history.db of an agent; the default is treeline's own
        """
        return self._call("historyAdd", {"prompt": prompt, "cwd": cwd, "db": db}, ("prompt",), timeout=timeout)

    def history_search(
        self,
        text: str,
        *,
        anywhere: Optional[bool] = None,
        cwd: Optional[str] = None,
        limit: Optional[int] = None,
        uses: Optional[bool] = None,
        db: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[Prompt]:
        """The prompts that have all words, newest first.

        text: words; each must be the beginning of a word in the prompt
        anywhere: words match inside other words, too: for languages without spaces
        cwd: only prompts of that directory
        limit: the maximum number, up to 1000; the default is 100
        uses: adds the entries where each prompt was used, which may read sessions
        db: the history.db of an agent; the default is treeline's own
        """
        return self._call(
            "historySearch",
            {"text": text, "anywhere": anywhere, "cwd": cwd, "limit": limit, "uses": uses, "db": db},
            ("text",),
            timeout=timeout,
        )

    def history_recent(
        self,
        *,
        cwd: Optional[str] = None,
        limit: Optional[int] = None,
        uses: Optional[bool] = None,
        db: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[Prompt]:
        """The newest prompts.

        cwd: only prompts of that directory
        limit: the maximum number, up to 1000; the default is 100
        uses: adds the entries where each prompt was used, which may read sessions
        db: the history.db of an agent; the default is treeline's own
        """
        return self._call("historyRecent", {"cwd": cwd, "limit": limit, "uses": uses, "db": db}, timeout=timeout)

    def list_runs(
        self,
        *,
        session_id: Optional[str] = None,
        cwd: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> RunPage:
        """The runs of all agents, newest first, page by page.

        session_id: only runs of that session
        cwd: only runs of that directory
        limit: the maximum number of runs, up to 1000; the default is 100
        cursor: next of the previous page
        """
        return self._call(
            "listRuns",
            {"sessionId": session_id, "cwd": cwd, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def iter_list_runs(
        self,
        *,
        session_id: Optional[str] = None,
        cwd: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Iterator[Run]:
        """All runs of listRuns, page by page."""
        return self._pages("listRuns", "runs", {"sessionId": session_id, "cwd": cwd, "limit": limit}, timeout=timeout)

    def read_run(
        self,
        ref: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> RunRecords:
        """The records of a run, page by page.

        ref: a run: its path, its id or the beginning of it (also agent:id), or @last
        limit: the maximum number of records, up to 1000; the default is 100
        cursor: next of the previous page
        """
        return self._call("readRun", {"ref": ref, "limit": limit, "cursor": cursor}, ("ref",), timeout=timeout)

    def iter_read_run(self, ref: str, *, limit: Optional[int] = None, timeout: Optional[float] = None) -> Iterator[Any]:
        """All records of readRun, page by page."""
        return self._pages("readRun", "records", {"ref": ref, "limit": limit}, ("ref",), timeout=timeout)

    def version(self, *, timeout: Optional[float] = None) -> Version:
        """The version of the program."""
        return self._call("version", {}, timeout=timeout)

    def discover(self, *, timeout: Optional[float] = None) -> OpenRPCDocument:
        """An [OpenRPC](https://spec.open-rpc.org) document of all methods, with the schemas of their parameters and
        results."""
        return self._call("rpc.discover", {}, timeout=timeout)



# </client>


# <session> from rpc.discover; go test ./clients -update writes it
class _SessionMethods(_Caller):
    def new_session(
        self,
        *,
        id: Optional[str] = None,
        parent_session: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Session:
        """Starts an empty session in the same folder.

        id: the id of the new session; the default is generated
        parent_session: the file of the session that this one continues
        """
        return self._opened(self._call("newSession", {"id": id, "parentSession": parent_session}, timeout=timeout))

    def create_branched_session(self, leaf_id: str, *, timeout: Optional[float] = None) -> Session:
        """Copies only the path from the root to leafId. Its labels are appended again.

        leaf_id: the last entry that is copied
        """
        return self._opened(self._call("createBranchedSession", {"leafId": leaf_id}, ("leafId",), timeout=timeout))

    def fork(self, *, timeout: Optional[float] = None) -> Session:
        """Copies all branches."""
        return self._opened(self._call("fork", {}, timeout=timeout))

    def move(self, cwd: str, *, timeout: Optional[float] = None) -> Session:
        """Moves the session to another project directory. In the agent's own folders the file moves to the folder of
        that directory.

        cwd: the new working directory
        """
        return self._opened(self._call("move", {"cwd": cwd}, ("cwd",), timeout=timeout))

    def flush(self, *, timeout: Optional[float] = None) -> None:
        """Creates the file if entries are still waiting for it. Returns when everything appended survives a machine
        crash."""
        return self._call("flush", {}, timeout=timeout)

    def close(self) -> None:
        """Syncs the file and closes it. Entries still waiting for their file are dropped. The handle becomes
        invalid."""
        return self._call("close", {})

    def append_message(self, message: Dict[str, Any], *, timeout: Optional[float] = None) -> Appended:
        """Appends a message as the agent writes it.

        message: a message as the agent writes it
        """
        return self._call("appendMessage", {"message": message}, ("message",), timeout=timeout)

    def append_user(
        self,
        text: str,
        *,
        images: Optional[List[Image]] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a message of the user in the dialect's own form.

        text: what the user said
        images: pictures that the user added
        """
        return self._call("appendUser", {"text": text, "images": images}, ("text",), timeout=timeout)

    def append_assistant(
        self,
        parts: List[PartInput],
        *,
        provider: Optional[str] = None,
        model: Optional[str] = None,
        usage: Optional[AnswerUsage] = None,
        stop: Optional[str] = None,
        error: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends an answer of the model in the dialect's own form. It may become several entries, which are written
        together; the result names the last.

        parts: texts, thinking and tool calls, in order; results of the calls may be among them
        provider: the provider of the model; the default is the model in use
        model: the id of the model
        usage: what the answer used
        stop: why the answer ended; the default follows from the parts
        error: what went wrong in an answer that failed
        """
        return self._call(
            "appendAssistant",
            {"parts": parts, "provider": provider, "model": model, "usage": usage, "stop": stop, "error": error},
            ("parts",),
            timeout=timeout,
        )

    def append_tool_result(
        self,
        call_id: str,
        parts: List[PartInput],
        *,
        is_error: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends the result of a tool call in the dialect's own form. Wave and OpenCode keep it in the message with
        the call: there it is refused, and results are given to appendAssistant.

        call_id: the tool call, which must be on the path to the leaf
        parts: texts and images
        is_error: the tool failed
        """
        return self._call(
            "appendToolResult",
            {"callId": call_id, "parts": parts, "isError": is_error},
            ("callId", "parts",),
            timeout=timeout,
        )

    def append_thinking_level_change(
        self,
        thinking_level: Optional[str],
        *,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a change of the thinking level.

        thinking_level: null means not set
        """
        return self._call(
            "appendThinkingLevelChange",
            {"thinkingLevel": thinking_level},
            ("thinkingLevel",),
            timeout=timeout,
        )

    def append_model_change(
        self,
        *,
        model: Optional[str] = None,
        role: Optional[str] = None,
        provider: Optional[str] = None,
        model_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a change of the model: model (provider/id), or provider and modelId. The dialect writes its own
        spelling.

        model: provider/id; or give provider and modelId
        role: the role of the model, such as default
        provider: instead of model, together with modelId
        model_id: instead of model, together with provider
        """
        return self._call(
            "appendModelChange",
            {"model": model, "role": role, "provider": provider, "modelId": model_id},
            timeout=timeout,
        )

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str,
        tokens_before: float,
        *,
        short_summary: Optional[str] = None,
        details: Any = UNSET,
        preserve_data: Any = UNSET,
        from_extension: Optional[bool] = None,
        from_hook: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a compaction: the summary replaces everything before firstKeptEntryId.

        first_kept_entry_id: the first entry that the model still sees
        tokens_before: the size of the context before
        short_summary: the summary on one line
        details: any JSON, for extensions
        preserve_data: any JSON, for extensions
        from_extension: an extension made the summary; each dialect writes its own word
        from_hook: the same as fromExtension
        """
        return self._call(
            "appendCompaction",
            {"summary": summary, "firstKeptEntryId": first_kept_entry_id, "tokensBefore": tokens_before, "shortSummary": short_summary, "details": details, "preserveData": preserve_data, "fromExtension": from_extension, "fromHook": from_hook},
            ("summary", "firstKeptEntryId", "tokensBefore", "details", "preserveData",),
            timeout=timeout,
        )

    def append_custom_entry(self, custom_type: str, *, data: Any = UNSET, timeout: Optional[float] = None) -> Appended:
        """Appends an extension's own state, which the model does not see.

        custom_type: the extension's own name of the type
        """
        return self._call(
            "appendCustomEntry",
            {"customType": custom_type, "data": data},
            ("customType", "data",),
            timeout=timeout,
        )

    def append_custom_message_entry(
        self,
        custom_type: str,
        content: Union[str, List[Any]],
        display: bool,
        *,
        details: Any = UNSET,
        attribution: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a message of an extension, which the model sees.

        custom_type: the extension's own name of the type
        content: a text or a list of blocks
        display: whether people see it
        details: any JSON, for extensions
        attribution: omp: user or agent, which is the default
        """
        return self._call(
            "appendCustomMessageEntry",
            {"customType": custom_type, "content": content, "display": display, "details": details, "attribution": attribution},
            ("customType", "content", "display", "details",),
            timeout=timeout,
        )

    def append_label_change(
        self,
        target_id: str,
        *,
        label: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Labels an entry, or removes its label.

        target_id: the id of an entry
        label: absent, null or empty removes the label
        """
        return self._call("appendLabelChange", {"targetId": target_id, "label": label}, ("targetId",), timeout=timeout)

    def append_session_info(self, name: str, *, timeout: Optional[float] = None) -> Appended:
        """Appends an entry with the session's name."""
        return self._call("appendSessionInfo", {"name": name}, ("name",), timeout=timeout)

    def append_mode_change(self, mode: str, *, data: Any = UNSET, timeout: Optional[float] = None) -> Appended:
        """Appends a change of the mode. Dialects outside pi's family refuse it."""
        return self._call("appendModeChange", {"mode": mode, "data": data}, ("mode", "data",), timeout=timeout)

    def append_ttsr_injection(self, injected_rules: List[str], *, timeout: Optional[float] = None) -> Appended:
        """Appends the names of injected rules. Dialects outside pi's family refuse it.

        injected_rules: names of rules
        """
        return self._call("appendTtsrInjection", {"injectedRules": injected_rules}, ("injectedRules",), timeout=timeout)

    def append_session_init(
        self,
        system_prompt: str,
        task: str,
        tools: List[str],
        *,
        output_schema: Any = UNSET,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends what a sub-agent was started with. Dialects outside pi's family refuse it.

        tools: names of tools
        output_schema: any JSON
        """
        return self._call(
            "appendSessionInit",
            {"systemPrompt": system_prompt, "task": task, "tools": tools, "outputSchema": output_schema},
            ("systemPrompt", "task", "tools", "outputSchema",),
            timeout=timeout,
        )

    def append_service_tier_change(
        self,
        service_tier: Union[str, Dict[str, Any], None],
        *,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Appends a change of the tier in which the provider serves requests. Dialects outside of pi's family refuse
        it.

        service_tier: a word, for omp18 an object with a word for each provider; null means none
        """
        return self._call("appendServiceTierChange", {"serviceTier": service_tier}, ("serviceTier",), timeout=timeout)

    def append_mcp_tool_selection(self, selected_tool_names: List[str], *, timeout: Optional[float] = None) -> Appended:
        """Appends which tools of MCP servers the model may call from here on. Dialects outside of pi's family refuse
        it.

        selected_tool_names: names of tools; an empty list selects none
        """
        return self._call(
            "appendMCPToolSelection",
            {"selectedToolNames": selected_tool_names},
            ("selectedToolNames",),
            timeout=timeout,
        )

    def branch_with_summary(
        self,
        id: Optional[str],
        summary: str,
        *,
        details: Any = UNSET,
        from_extension: Optional[bool] = None,
        from_hook: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Appended:
        """Moves the leaf to id and appends a summary of the abandoned branch there. id must be given.

        id: the entry to continue from; null is the place before the first entry
        details: any JSON, for extensions
        from_extension: an extension made the summary; each dialect writes its own word
        from_hook: the same as fromExtension
        """
        return self._call(
            "branchWithSummary",
            {"id": id, "summary": summary, "details": details, "fromExtension": from_extension, "fromHook": from_hook},
            ("id", "summary", "details",),
            timeout=timeout,
        )

    def branch(self, id: str, *, durable: Optional[bool] = None, timeout: Optional[float] = None) -> None:
        """Moves the leaf: the next entry continues from there. With durable: true an entry that the model does not see
        is appended there, so that the move survives a restart and the agent sees it too; the leaf is then that
        entry.

        id: the entry to continue from
        durable: appends an entry, so that the move survives a restart; the default is true where the agent has such
        entries
        """
        return self._call("branch", {"id": id, "durable": durable}, ("id",), timeout=timeout)

    def reset_leaf(self, *, durable: Optional[bool] = None, timeout: Optional[float] = None) -> None:
        """Moves the leaf before the first entry.

        durable: appends an entry, so that the move survives a restart
        """
        return self._call("resetLeaf", {"durable": durable}, timeout=timeout)

    def set_session_name(self, name: str, *, timeout: Optional[float] = None) -> None:
        """Names the session as the agent does: in the header (omp) or with an entry (pi). "" removes the name."""
        return self._call("setSessionName", {"name": name}, ("name",), timeout=timeout)

    def rewrite_entries(self, entries: List[Any], *, timeout: Optional[float] = None) -> None:
        """Replaces all entries, atomically. The header stays; a header in entries is ignored. The leaf stays if it
        still exists.

        entries: entries as the agent writes them
        """
        return self._call("rewriteEntries", {"entries": entries}, ("entries",), timeout=timeout)

    def rewrite_tool_call_args(
        self,
        tool_call_id: str,
        arguments: Dict[str, Any],
        *,
        timeout: Optional[float] = None,
    ) -> bool:
        """Replaces the arguments of a tool call. false if no entry has it.

        tool_call_id: the id of a tool call
        arguments: its new arguments
        """
        return self._call(
            "rewriteToolCallArgs",
            {"toolCallId": tool_call_id, "arguments": arguments},
            ("toolCallId", "arguments",),
            timeout=timeout,
        )

    def get_leaf_id(self, *, timeout: Optional[float] = None) -> Optional[str]:
        """The id of the leaf, or null."""
        return self._call("getLeafId", {}, timeout=timeout)

    def get_leaf_entry(self, *, timeout: Optional[float] = None) -> Optional[AgentEntry]:
        """The leaf, or null."""
        return self._call("getLeafEntry", {}, timeout=timeout)

    def get_entry(self, id: str, *, timeout: Optional[float] = None) -> Optional[AgentEntry]:
        """An entry, or null.

        id: the id of an entry
        """
        return self._call("getEntry", {"id": id}, ("id",), timeout=timeout)

    def get_children(self, *, parent_id: Optional[str] = None, timeout: Optional[float] = None) -> List[AgentEntry]:
        """The entries that name parentId as their parent.

        parent_id: the id of an entry; null means the entries without a parent
        """
        return self._call("getChildren", {"parentId": parent_id}, timeout=timeout)

    def get_branch(self, *, from_id: Optional[str] = None, timeout: Optional[float] = None) -> List[AgentEntry]:
        """The entries from the root to fromId; [] if there is no such entry.

        from_id: the last entry of the path; the default is the leaf
        """
        return self._call("getBranch", {"fromId": from_id}, timeout=timeout)

    def get_path(self, *, from_id: Optional[str] = None, timeout: Optional[float] = None) -> List[AgentEntry]:
        """The same as getBranch.

        from_id: the last entry of the path; the default is the leaf
        """
        return self._call("getPath", {"fromId": from_id}, timeout=timeout)

    def get_tree(self, *, flat: Optional[bool] = None, timeout: Optional[float] = None) -> List[TreeNode]:
        """The roots, each with its children, which are ordered by time. An entry whose parent is missing is a root. The
        result nests as deep as the session is long, which is too deep for many JSON parsers; flat: true gives a
        list.

        flat: gives all nodes in one list, parents first, with id, parentId and depth instead of children
        """
        return self._call("getTree", {"flat": flat}, timeout=timeout)

    def get_entries(self, *, timeout: Optional[float] = None) -> List[AgentEntry]:
        """All entries in the order of the log, without the header."""
        return self._call("getEntries", {}, timeout=timeout)

    def get_header(self, *, timeout: Optional[float] = None) -> Optional[AgentHeader]:
        """The header, or null."""
        return self._call("getHeader", {}, timeout=timeout)

    def get_label(self, id: str, *, timeout: Optional[float] = None) -> Optional[str]:
        """The label of an entry, or null.

        id: the id of an entry
        """
        return self._call("getLabel", {"id": id}, ("id",), timeout=timeout)

    def get_session_name(self, *, timeout: Optional[float] = None) -> Optional[str]:
        """The name, or null."""
        return self._call("getSessionName", {}, timeout=timeout)

    def get_session_file(self, *, timeout: Optional[float] = None) -> Optional[str]:
        """The path, even while creation is deferred; null in memory."""
        return self._call("getSessionFile", {}, timeout=timeout)

    def get_session_id(self, *, timeout: Optional[float] = None) -> str:
        """The id of the session."""
        return self._call("getSessionId", {}, timeout=timeout)

    def get_session_dir(self, *, timeout: Optional[float] = None) -> str:
        """The folder for new sessions and copies; "" in memory."""
        return self._call("getSessionDir", {}, timeout=timeout)

    def get_cwd(self, *, timeout: Optional[float] = None) -> str:
        """The session's working directory."""
        return self._call("getCwd", {}, timeout=timeout)

    def is_persisted(self, *, timeout: Optional[float] = None) -> bool:
        """Whether the session is stored: false in memory."""
        return self._call("isPersisted", {}, timeout=timeout)

    def build_request(
        self,
        *,
        leaf_id: Optional[str] = None,
        provider: Optional[str] = None,
        model: Optional[str] = None,
        max_tokens: Optional[int] = None,
        system: Optional[str] = None,
        tools: Optional[List[ToolInput]] = None,
        prompt: Optional[str] = None,
        whole: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelRequest:
        """The body of a request that continues the session: for POST /v1/messages (anthropic), POST
        /v1/chat/completions (openai) or POST /v1/responses (responses). The provider accepts it, whichever agent wrote
        the session: what it would refuse is left out.

        leaf_id: the entry to look from; the default is the leaf
        provider: the provider; the default is that of the last answer
        model: the model; the default is that of the last answer
        max_tokens: the limit of the answer; the default is 8192
        system: the system prompt; system messages of the session follow it
        tools: the tools that the model may call; parameters is a JSON schema of an object
        prompt: what the user says next
        whole: restore long texts that the agent's format cut
        """
        return self._call(
            "buildRequest",
            {"leafId": leaf_id, "provider": provider, "model": model, "maxTokens": max_tokens, "system": system, "tools": tools, "prompt": prompt, "whole": whole},
            timeout=timeout,
        )

    def build_session_context(
        self,
        *,
        entries: Optional[List[Any]] = None,
        leaf_id: Any = UNSET,
        whole: Optional[bool] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> AgentContext:
        """What the model would see: of a session or, without one, of entries. Without leafId it is seen from the leaf,
        of entries from the last; an unknown id means the last entry.

        entries: entries to use instead of a session
        leaf_id: the entry to look from; null is the place before the first entry
        whole: restore long texts that the agent's format cut; those that this server appended are whole in any case
        dialect: the agent's format, such as omp or pi
        """
        return self._call(
            "buildSessionContext",
            {"entries": entries, "leafId": leaf_id, "whole": whole, "dialect": dialect},
            ("leafId",),
            timeout=timeout,
        )

    def build_parts(
        self,
        *,
        leaf_id: Any = UNSET,
        whole: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> PartsContext:
        """The same as buildSessionContext in a form that is the same for every agent: messages with a role and parts,
        as the agent would send them.

        leaf_id: the entry to look from; null is the place before the first entry
        whole: restore long texts that the agent's format cut; those that this server appended are whole in any case
        """
        return self._call("buildParts", {"leafId": leaf_id, "whole": whole}, ("leafId",), timeout=timeout)

    def start_run(
        self,
        *,
        session_id: Optional[str] = None,
        dialect: Optional[str] = None,
        header: Any = UNSET,
        timeout: Optional[float] = None,
    ) -> Recording:
        """Starts a run of an open session, of the session with that id, or of none. header is the run's first record; a
        missing type, id, session, start or version is filled in. dialect: "codelia" keeps the log where codelia
        does.

        session_id: the id of the session that the run belongs to
        dialect: the agent's format, such as omp or pi
        header: members of the run's first record
        """
        return self._call(
            "startRun",
            {"sessionId": session_id, "dialect": dialect, "header": header},
            ("header",),
            timeout=timeout,
        )

    def check(
        self,
        *,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> List[Problem]:
        """Lists everything that is wrong with a session: an open one, or the one that ref names. Nothing is changed.

        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        """
        return self._call("check", {"ref": ref, "dialect": dialect}, timeout=timeout)

    def convert(
        self,
        to: str,
        *,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        leaf_id: Optional[str] = None,
        dir: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Conversion:
        """Creates a session of another agent from an open one, or from the one that ref names, which is only read. The
        report lists what became of everything.

        to: the dialect of the new session
        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        leaf_id: converts only the path to this entry
        dir: the folder of the new file; the default is the agent's own
        """
        return self._call(
            "convert",
            {"to": to, "ref": ref, "dialect": dialect, "leafId": leaf_id, "dir": dir},
            ("to",),
            timeout=timeout,
        )

    def resume_command(
        self,
        *,
        agent: Optional[str] = None,
        ref: Optional[str] = None,
        dialect: Optional[str] = None,
        leaf_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Resume:
        """The command that continues an open session, or the one that ref names, in its own agent or in another one.
        Another agent continues a converted copy. With leafId that entry is made the leaf first; if the agent's format
        has no leaf, the path to it becomes a separate session.

        agent: the agent that continues it, as a dialect; the default is its own
        ref: a session that is not open: its path, its id or the beginning of it (also agent:id), or @last
        dialect: the agent's format, such as omp or pi
        leaf_id: the entry to continue from; the default is the leaf
        """
        return self._call(
            "resumeCommand",
            {"agent": agent, "ref": ref, "dialect": dialect, "leafId": leaf_id},
            timeout=timeout,
        )



# </session>


class Client(_ClientMethods):
    """A connection to its own server process, which ends with it."""

    def __init__(
        self,
        program: str = "treeline",
        arguments: Sequence[str] = (),
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        on_notification: Optional[Callable[[str, Any], None]] = None,
    ) -> None:
        """Starts `program rpc arguments`. on_notification is called with the method and parameters of each notification, in
        the reading thread; it must not call methods of the client. Its exceptions are passed to sys.excepthook."""
        self._process = subprocess.Popen(
            [program, "rpc", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=cwd
        )
        self._writing = threading.Lock()  # guards stdin. The reader never takes it, since the server may wait until answers are read
        self._lock = threading.Lock()  # guards the fields below
        self._last = 0
        self._waiting: Dict[int, Tuple[Future[Any], Optional[Callable[[Any], None]]]] = {}
        self._watches: Dict[str, queue.SimpleQueue[Optional[Change]]] = {}
        self._ended = False
        self._on_notification = on_notification
        self._reader = threading.Thread(target=self._read, name="treeline rpc", daemon=True)
        self._reader.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        """Ends the server, which flushes and closes all sessions, and returns its exit code."""
        assert self._process.stdin is not None
        with self._writing:
            if not self._process.stdin.closed:
                try:
                    self._process.stdin.close()
                except BrokenPipeError:
                    pass  # the server has already ended
        code = self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def changes(
        self,
        *,
        ref: Optional[str] = None,
        cwd: Optional[str] = None,
        dialect: Optional[str] = None,
        last: Optional[int] = None,
        from_start: Optional[bool] = None,
    ) -> Iterator[Change]:
        """Follows sessions like watch, and yields the changes until the loop over them ends. The watch starts with the
        first step of the loop."""
        changes: queue.SimpleQueue[Optional[Change]] = queue.SimpleQueue()
        # The notifications may be read before this thread sees the answer, so the reader registers the queue.
        handle = self._send(
            "watch",
            {"ref": ref, "cwd": cwd, "dialect": dialect, "last": last, "fromStart": from_start},
            then=lambda result: self._watches.__setitem__(result["watch"], changes),
        ).result()["watch"]
        try:
            while True:
                change = changes.get()
                if change is None:
                    raise ConnectionLost("the server has ended")
                yield change
                if change["event"] == "end":
                    return
        finally:
            with self._lock:
                self._watches.pop(handle, None)
                ended = self._ended
            if not ended:
                self.unwatch(handle)

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None) -> Any:
        """Calls the method with a name, with exactly these parameters."""
        return self.start(method, params).result(timeout)

    def start(self, method: str, params: Optional[Mapping[str, Any]] = None) -> Call:
        """Sends a request with exactly these parameters, and does not wait for the answer."""
        return self._send(method, dict(params or {}), needed=tuple(params or ()))

    def _call(
        self, method: str, params: Dict[str, Any], needed: Tuple[str, ...] = (), timeout: Optional[float] = None
    ) -> Any:
        return self._send(method, params, needed).result(timeout)

    def _opened(self, result: Any) -> Session:
        return Session(self, result)

    def _send(
        self,
        method: str,
        params: Dict[str, Any],
        needed: Tuple[str, ...] = (),
        then: Optional[Callable[[Any], None]] = None,
    ) -> Call:
        given = {}
        for name, value in params.items():
            if value is UNSET or value is None and name not in needed:
                continue
            given[name] = value
        # A value that is not JSON, such as NaN, raises ValueError or TypeError, and nothing is sent.
        text = json.dumps({"method": method, "params": given}, allow_nan=False)
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise ConnectionLost("the server has ended")
            self._last += 1
            id = self._last
            self._waiting[id] = (future, then)
        try:
            self._write(f'{{"jsonrpc":"2.0","id":{id},{text[1:]}\n')
        except (OSError, ValueError) as e:
            with self._lock:
                self._waiting.pop(id, None)
            raise ConnectionLost(str(e)) from e
        return Call(self, id, future)

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if line.endswith(b"\n"):  # a server that is killed while it writes leaves an incomplete line
                    self._receive(line)
        finally:
            with self._lock:
                self._ended = True
                waiting, self._waiting = self._waiting, {}
                watches, self._watches = self._watches, {}
            for future, _ in waiting.values():
                future.set_exception(ConnectionLost("the server has ended"))
            for changes in watches.values():
                changes.put(None)

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (RecursionError, ValueError) as unread:  # Python limits the nesting of JSON and the digits of a number
            answered = re.match(rb'\{"jsonrpc":"2.0","id":(\d+),', line)
            with self._lock:
                waiting = self._waiting.pop(int(answered[1]), None) if answered else None
            if waiting is not None:
                waiting[0].set_exception(unread)
            return
        if "method" in message:
            params = message["params"]
            if message["method"] == "change":
                with self._lock:
                    changes = self._watches.get(params["watch"])
                if changes is not None:
                    changes.put(params)
            if self._on_notification is not None:
                try:
                    self._on_notification(message["method"], params)
                except Exception as raised:
                    sys.excepthook(type(raised), raised, raised.__traceback__)  # reading must go on for the other callers
            return
        with self._lock:
            id = message.get("id")
            waiting = self._waiting.pop(id, None) if isinstance(id, int) else None
            if waiting is None:
                return  # an answer to a request that was never sent
            future, then = waiting
            if "error" not in message and then is not None:
                then(message["result"])
        if "error" in message:
            error = message["error"]
            kind = (error.get("data") or {}).get("kind")
            future.set_exception(Error(error["code"], error["message"], kind))
        else:
            future.set_result(message["result"])


class Call:
    """A request that was sent."""

    def __init__(self, client: Client, id: int, future: Future[Any]) -> None:
        self._client = client
        self._id = id
        self._future = future

    def cancel(self) -> None:
        """Asks the server to cancel the request. result still waits for the answer, which is an Error with the kind "cancelled"
        if the request was cancelled."""
        if self._future.done():
            return
        try:
            self._client._write(f'{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{self._id}}}}}\n')
        except (OSError, ValueError):
            pass  # the server has ended, and result says so

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the answer. After timeout seconds, or on KeyboardInterrupt, the request is cancelled. Only after the timeout
        this still waits for the answer."""
        try:
            wait([self._future], timeout)
        except BaseException:
            self.cancel()
            raise
        if self._future.done():
            return self._future.result()
        self.cancel()
        try:
            return self._future.result()
        except Error as e:
            if e.kind == "cancelled":
                raise TimeoutError("the request was cancelled after %g seconds" % (timeout or 0)) from e
            raise


class Session(_SessionMethods):
    """An open session. At the end of a with block it is flushed and closed."""

    def __init__(self, client: Client, opened: Opened) -> None:
        self.client = client
        self.handle: Optional[str] = opened["session"]
        self._become(opened)

    def _become(self, opened: Opened) -> None:
        self.id: str = opened["id"]
        self.dialect: str = opened["dialect"]
        self.file: Optional[str] = opened["file"]

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self.close()

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.handle = None

    def _call(
        self, method: str, params: Dict[str, Any], needed: Tuple[str, ...] = (), timeout: Optional[float] = None
    ) -> Any:
        if self.handle is None:
            raise Error(Error.INVALID_PARAMS, "the session is closed")
        return self.client._call(method, {"session": self.handle, **params}, ("session", *needed), timeout)

    def _opened(self, result: Any) -> Session:
        self._become(result)
        return self
