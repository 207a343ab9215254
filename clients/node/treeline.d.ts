/// <reference lib="esnext.disposable" />
// The types of treeline.js.

/** An error answer of the server. Programs should check the code and the kind, such as "unknown-entry"; the text is for people. */
export class TreelineError extends Error {
  readonly code: number;
  readonly kind?: string;
  constructor(code: number, message: string, kind?: string);
}

/** What else a method takes, after its parameters. */
export interface CallOptions {
  /**
   * Cancels the request. The promise is still settled by the server's answer: it rejects with the signal's reason if the request was
   * cancelled, and resolves if it was carried out nevertheless, as an append is once it has begun.
   */
  signal?: Cancelling;
}

/** An AbortSignal, of Node or of a browser. */
export interface Cancelling {
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The parameters of a method that has none. */
export type NoParams = Record<string, never>;

/** The server has ended, or the client was closed. */
export class ConnectionLost extends Error {
  constructor(message?: string);
}

// <shapes> from rpc.discover; go test ./clients -update writes them
export interface AgentContext {
  configuredThinkingLevel?: any;
  hasPersistedMCPToolSelection?: boolean;
  injectedTtsrRules?: Array<string>;
  messages: Array<AgentMessage>;
  mode?: string;
  modeData?: any;
  model?: any;
  models?: Record<string, string>;
  selectedMCPToolNames?: Array<string>;
  serviceTier?: any;
  thinkingLevel?: any;
  [member: string]: any;
}

export type AgentEntry = Record<string, any>;

export type AgentHeader = Record<string, any>;

export type AgentMessage = Record<string, any>;

export interface AgentRow {
  allMessagesText?: string;
  created?: any;
  cwd: string;
  fileSize?: number;
  firstMessage?: string;
  id: string;
  messageCount?: number;
  modified?: any;
  name?: string;
  parentSessionPath?: string;
  path: string;
  title?: string;
  [member: string]: any;
}

export interface AnswerUsage {
  cacheRead?: number;
  cacheWrite?: number;
  cost?: number;
  input: number;
  output: number;
  total?: number;
}

export interface Appended {
  durable: boolean;
  foreign?: number;
  id: string;
  outcome?: string;
}

export interface CancelParams {
  id: any;
}

export interface Change {
  cwd?: string;
  dialect?: string;
  entry?: Entry;
  event: string;
  kind?: string;
  line?: number;
  lost?: number;
  message?: string;
  offset?: number;
  path?: string;
  session?: string;
  sessions?: number;
  title?: string;
  watch: string;
}

export interface Conversion {
  carried: number;
  dropped: number;
  losses: Array<Loss>;
  lossless: boolean;
  mapped: number;
  source: Converted;
  target: Converted;
}

export interface Converted {
  dialect: string;
  entries: number;
  id: string;
  path: string;
  view: View;
}

export interface Entry {
  display?: boolean;
  here?: boolean;
  id: string;
  kind: string;
  label?: string;
  leaf?: boolean;
  onPath?: boolean;
  parentId: string | null;
  parts?: Array<Part>;
  role: string | null;
  text?: string;
  time: string | null;
  type: string;
}

export interface Group {
  cost: number;
  messages: number;
  name: string;
  sessions: number;
  tokens: Tokens;
}

export interface Hit {
  cwd: string;
  dialect?: string;
  entry: string | null;
  field: string;
  kind: string;
  label?: string;
  line?: number;
  marks: Array<Array<number>>;
  onPath: boolean;
  path: string;
  ref: string;
  role: string | null;
  run?: string;
  score?: number;
  session: string | null;
  snippet: string;
  time: string | null;
  title: string;
  type: string;
}

export interface Image {
  data: string;
  mime: string;
}

export interface LoadedState {
  dialect: string;
  resume: Array<AgentMessage>;
  state: any;
  version: string;
}

export interface Loss {
  became: string;
  count: number;
  entries?: Array<string>;
  kind: string;
  lines?: Array<number>;
  pointer: string;
}

export interface ModelRequest {
  answered: boolean;
  body: any;
  model: string;
  provider: string;
}

export type OpenRPCDocument = Record<string, any>;

export interface Opened {
  dialect: string;
  file: string | null;
  id: string;
  leafId: string | null;
  session: string;
}

export interface Page {
  next: string | null;
  problems: Array<string>;
  rows: Array<Row>;
  total: number;
}

export interface Part {
  arguments?: any;
  blob?: string;
  callId?: string;
  data?: string;
  id?: string;
  isError?: boolean;
  json?: any;
  mime?: string;
  name?: string;
  parts?: Array<Part>;
  session?: string;
  size?: number;
  text?: string;
  type: string;
  url?: string;
}

export interface PartInput {
  arguments?: any;
  callId?: string;
  data?: string;
  id?: string;
  isError?: boolean;
  mime?: string;
  name?: string;
  parts?: Array<PartInput>;
  signature?: string;
  text?: string;
  type: string;
}

export interface PartsContext {
  messages: Array<PartsMessage>;
  problems?: Array<Problem>;
}

export interface PartsMessage {
  parts: Array<Part>;
  role: string;
}

export interface Plan {
  applied: boolean;
  backup: string | null;
  foreign?: number;
  held?: Array<string>;
  path: string;
  repairs: Array<Repair>;
  torn: string | null;
}

export interface Problem {
  advice: string;
  kind: string;
  line: number;
  message: string;
  offset: number;
  path: string;
}

export interface Prompt {
  cwd: string | null;
  id: number;
  prompt: string;
  time: string;
  uses: Array<Use>;
}

export interface RecentSession {
  fullName: string;
  mtime: number;
  name: string;
  path: string;
}

export interface Recorded {
  seq?: number;
  type: string;
}

export interface Recording {
  file: string;
  id: string;
  run: string;
}

export interface Repair {
  action: string;
  change: boolean;
  entry?: string;
  kind: string;
  line: number;
  message: string;
  offset: number;
}

export interface Resume {
  args: Array<string>;
  command: string;
  conversion?: Conversion;
  cwd: string;
  dialect: string;
  env: Array<string>;
  holders?: Array<string>;
  id: string;
  leafId: string | null;
  madeFrom?: string;
  path: string;
  problems?: Array<Problem>;
}

export interface Row {
  active?: string | null;
  branches?: number;
  cost?: number;
  created: string | null;
  cwd: string;
  depth?: number;
  dialect: string;
  entries?: number;
  has?: Array<string>;
  id: string;
  messages: number | null;
  models?: Array<string>;
  modified: string;
  origin?: string;
  parentSession?: string;
  path: string;
  problems?: number;
  prompt: string;
  size: number;
  title: string;
  tokens?: Tokens;
}

export interface Run {
  created: string | null;
  cwd: string;
  id: string;
  model?: string;
  modified: string;
  outcome: string | null;
  path: string;
  prompt: string;
  session?: string;
  size: number;
}

export interface RunPage {
  next: string | null;
  problems: Array<string>;
  runs: Array<Run>;
  total: number;
}

export interface RunRecords {
  ended: boolean;
  header: any;
  next: string | null;
  path: string;
  problems: Array<string>;
  records: Array<any>;
  total: number;
}

export interface Saved {
  updatedAt: string;
  version: string;
}

export interface SearchResult {
  hits: Array<Hit>;
  matched: string;
  more: boolean;
  problems: Array<string>;
}

export interface SessionEvent {
  entryId: string | null;
  file: string | null;
  foreign?: number;
  problem?: Problem;
  session: string | null;
}

export interface Source {
  dialect: string | null;
  dialects: Array<string>;
  exists: boolean;
  newest: string | null;
  origin?: string;
  path: string;
  sessions: number;
  size: number;
  unread?: string;
  why: string;
}

export interface Stats {
  agents?: Array<Group>;
  copies: number;
  cost: number;
  days?: Array<Group>;
  messages: number;
  models?: Array<Group>;
  projects?: Array<Group>;
  sessions: number;
  tokens: Tokens;
}

export interface Tokens {
  cacheRead: number;
  cacheWrite: number;
  input: number;
  output: number;
  total: number;
}

export interface ToolInput {
  description?: string;
  name: string;
  parameters?: any;
}

export interface Trashed {
  cwd: string;
  dialect: string;
  id: string;
  path: string;
  removed: string;
  session: string;
  size: number;
  title: string;
}

export interface TreeNode {
  children?: Array<TreeNode>;
  depth?: number;
  entry: AgentEntry;
  id?: string;
  label?: string;
  parentId?: string | null;
}

export interface Use {
  cwd: string;
  dialect: string;
  entry: string;
  path: string;
  session: string;
  time: string;
}

export interface Version {
  arch: string;
  date?: string;
  go: string;
  modified?: boolean;
  os: string;
  revision?: string;
  version: string;
}

export interface View {
  calls: number;
  images: number;
  messages: number;
  results: number;
  thinking: number;
}

export interface Watching {
  watch: string;
}

export interface CreateParams {
  /** the working directory of the session */
  cwd: string;
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used which session; the default is the server's own */
  terminal?: string | null;
  /** sends notifications of what happens to the session */
  events?: boolean | null;
  /** the id of the new session; the default is generated */
  id?: string | null;
  /** the file of the session that this one continues */
  parentSession?: string | null;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
  /** writes what is otherwise refused because it looks like a mistake: a working directory that does not exist or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose first kept entry is not before it */
  force?: boolean | null;
  /** when the file is created: with the first message of the assistant, with the first message of user or assistant, or at once; the default is message, for omp-doc and operator-doc assistant, for wave-doc never; with level always the first append creates the file, and flush always does */
  deferUntil?: "assistant" | "message" | "never" | null;
}

export interface OpenParams {
  /** the file */
  path: string;
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used which session; the default is the server's own */
  terminal?: string | null;
  /** sends notifications of what happens to the session */
  events?: boolean | null;
  /** opens an existing session for reading; nothing is written, and appends are refused */
  readOnly?: boolean | null;
  /** renames a file that is not a session and starts one */
  replaceUnreadable?: boolean | null;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
  /** writes what is otherwise refused because it looks like a mistake: a working directory that does not exist or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose first kept entry is not before it */
  force?: boolean | null;
}

export interface ContinueRecentParams {
  /** the working directory of the session */
  cwd: string;
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used which session; the default is the server's own */
  terminal?: string | null;
  /** sends notifications of what happens to the session */
  events?: boolean | null;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
  /** writes what is otherwise refused because it looks like a mistake: a working directory that does not exist or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose first kept entry is not before it */
  force?: boolean | null;
}

export interface InMemoryParams {
  /** the working directory that its header names */
  cwd?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface ForkFromParams {
  /** the file that is copied */
  source: string;
  /** the working directory of the session */
  cwd: string;
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used which session; the default is the server's own */
  terminal?: string | null;
  /** sends notifications of what happens to the session */
  events?: boolean | null;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
  /** writes what is otherwise refused because it looks like a mistake: a working directory that does not exist or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose first kept entry is not before it */
  force?: boolean | null;
}

export interface NewSessionParams {
  /** the id of the new session; the default is generated */
  id?: string | null;
  /** the file of the session that this one continues */
  parentSession?: string | null;
}

export interface CreateBranchedSessionParams {
  /** the last entry that is copied */
  leafId: string;
}

export interface MoveParams {
  /** the new working directory */
  cwd: string;
}

export interface AppendMessageParams {
  /** a message as the agent writes it */
  message: Record<string, any>;
}

export interface AppendUserParams {
  /** what the user said */
  text: string;
  /** pictures that the user added */
  images?: Array<Image> | null;
}

export interface AppendAssistantParams {
  /** texts, thinking and tool calls, in order; results of the calls may be among them */
  parts: Array<PartInput>;
  /** the provider of the model; the default is the model in use */
  provider?: string | null;
  /** the id of the model */
  model?: string | null;
  /** what the answer used */
  usage?: AnswerUsage | null;
  /** why the answer ended; the default follows from the parts */
  stop?: "stop" | "length" | "tools" | "aborted" | "error" | "filter" | null;
  /** what went wrong in an answer that failed */
  error?: string | null;
}

export interface AppendToolResultParams {
  /** the tool call, which must be on the path to the leaf */
  callId: string;
  /** texts and images */
  parts: Array<PartInput>;
  /** the tool failed */
  isError?: boolean | null;
}

export interface AppendThinkingLevelChangeParams {
  /** null means not set */
  thinkingLevel: string | null;
}

export interface AppendModelChangeParams {
  /** provider/id; or give provider and modelId */
  model?: string | null;
  /** the role of the model, such as default */
  role?: string | null;
  /** instead of model, together with modelId */
  provider?: string | null;
  /** instead of model, together with provider */
  modelId?: string | null;
}

export interface AppendCompactionParams {
  summary: string;
  /** the first entry that the model still sees */
  firstKeptEntryId: string;
  /** the size of the context before */
  tokensBefore: number;
  /** the summary on one line */
  shortSummary?: string | null;
  /** any JSON, for extensions */
  details?: any;
  /** any JSON, for extensions */
  preserveData?: any;
  /** an extension made the summary; each dialect writes its own word */
  fromExtension?: boolean | null;
  /** the same as fromExtension */
  fromHook?: boolean | null;
}

export interface AppendCustomEntryParams {
  /** the extension's own name of the type */
  customType: string;
  data?: any;
}

export interface AppendCustomMessageEntryParams {
  /** the extension's own name of the type */
  customType: string;
  /** a text or a list of blocks */
  content: string | Array<any>;
  /** whether people see it */
  display: boolean;
  /** any JSON, for extensions */
  details?: any;
  /** omp: user or agent, which is the default */
  attribution?: string | null;
}

export interface AppendLabelChangeParams {
  /** the id of an entry */
  targetId: string;
  /** absent, null or empty removes the label */
  label?: string | null;
}

export interface AppendSessionInfoParams {
  name: string;
}

export interface AppendModeChangeParams {
  mode: string;
  data?: any;
}

export interface AppendTtsrInjectionParams {
  /** names of rules */
  injectedRules: Array<string>;
}

export interface AppendSessionInitParams {
  systemPrompt: string;
  task: string;
  /** names of tools */
  tools: Array<string>;
  /** any JSON */
  outputSchema?: any;
}

export interface AppendServiceTierChangeParams {
  /** a word, for omp18 an object with a word for each provider; null means none */
  serviceTier: string | Record<string, any> | null;
}

export interface AppendMCPToolSelectionParams {
  /** names of tools; an empty list selects none */
  selectedToolNames: Array<string>;
}

export interface BranchWithSummaryParams {
  /** the entry to continue from; null is the place before the first entry */
  id: string | null;
  summary: string;
  /** any JSON, for extensions */
  details?: any;
  /** an extension made the summary; each dialect writes its own word */
  fromExtension?: boolean | null;
  /** the same as fromExtension */
  fromHook?: boolean | null;
}

export interface BranchParams {
  /** the entry to continue from */
  id: string;
  /** appends an entry, so that the move survives a restart; the default is true where the agent has such entries */
  durable?: boolean | null;
}

export interface ResetLeafParams {
  /** appends an entry, so that the move survives a restart */
  durable?: boolean | null;
}

export interface SetSessionNameParams {
  name: string;
}

export interface RewriteEntriesParams {
  /** entries as the agent writes them */
  entries: Array<any>;
}

export interface RewriteToolCallArgsParams {
  /** the id of a tool call */
  toolCallId: string;
  /** its new arguments */
  arguments: Record<string, any>;
}

export interface GetEntryParams {
  /** the id of an entry */
  id: string;
}

export interface GetChildrenParams {
  /** the id of an entry; null means the entries without a parent */
  parentId?: string | null;
}

export interface GetBranchParams {
  /** the last entry of the path; the default is the leaf */
  fromId?: string | null;
}

export interface GetPathParams {
  /** the last entry of the path; the default is the leaf */
  fromId?: string | null;
}

export interface GetTreeParams {
  /** gives all nodes in one list, parents first, with id, parentId and depth instead of children */
  flat?: boolean | null;
}

export interface GetLabelParams {
  /** the id of an entry */
  id: string;
}

export interface BuildRequestParams {
  /** the entry to look from; the default is the leaf */
  leafId?: string | null;
  /** the provider; the default is that of the last answer */
  provider?: "anthropic" | "openai" | "responses" | null;
  /** the model; the default is that of the last answer */
  model?: string | null;
  /** the limit of the answer; the default is 8192 */
  maxTokens?: number | null;
  /** the system prompt; system messages of the session follow it */
  system?: string | null;
  /** the tools that the model may call; parameters is a JSON schema of an object */
  tools?: Array<ToolInput> | null;
  /** what the user says next */
  prompt?: string | null;
  /** restore long texts that the agent's format cut */
  whole?: boolean | null;
}

export interface BuildSessionContextParams {
  /** entries to use instead of a session */
  entries?: Array<any> | null;
  /** the entry to look from; null is the place before the first entry */
  leafId?: any;
  /** restore long texts that the agent's format cut; those that this server appended are whole in any case */
  whole?: boolean | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface BuildPartsParams {
  /** the entry to look from; null is the place before the first entry */
  leafId?: any;
  /** restore long texts that the agent's format cut; those that this server appended are whole in any case */
  whole?: boolean | null;
}

export interface StartRunParams {
  /** the id of the session that the run belongs to */
  sessionId?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** members of the run's first record */
  header?: any;
}

export interface AppendRecordParams {
  /** the handle of a run */
  run: string;
  /** a record with a type */
  record: Record<string, any>;
}

export interface ContinueRunParams {
  /** a run: its path, its id or the beginning of it (also agent:id), or @last */
  ref: string;
}

export interface EndRunParams {
  /** the handle of a run */
  run: string;
  /** how it ended; may be absent if run.end was appended */
  outcome?: string | null;
  /** the last text of the assistant */
  final?: string | null;
}

export interface LoadEntriesParams {
  /** the file */
  path: string;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface ParseEntriesParams {
  /** JSON Lines */
  text: string;
}

export interface MigrateEntriesParams {
  /** entries as the agent writes them */
  entries: Array<any>;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface FindMostRecentParams {
  /** the folder */
  dir: string;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface GetRecentSessionsParams {
  /** the folder */
  sessionDir: string;
  /** how many; the default is 3 */
  limit?: number | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface ListParams {
  /** the working directory of the session */
  cwd: string;
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** false leaves out allMessagesText */
  texts?: boolean | null;
}

export interface ListAllParams {
  /** the folder of its file; the default is the agent's own */
  sessionDir?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none */
  profile?: string | null;
  /** false leaves out allMessagesText */
  texts?: boolean | null;
}

export interface SaveStateParams {
  /** {session_id, messages, updated_at?, run_id?, invoke_seq?, workspace_root?, meta?} */
  state: Record<string, any>;
  /** that of the last result, or new: fails if another program saved meanwhile */
  version?: string | null;
  /** codelia-state (the default: the agent's database) or codelia-state-doc (a JSON file) */
  dialect?: string | null;
}

export interface LoadStateParams {
  /** the id of the session */
  id: string;
  /** the working directory now */
  cwd?: string | null;
  /** the workspace now */
  root?: string | null;
  /** codelia-state (the default: the agent's database) or codelia-state-doc (a JSON file) */
  dialect?: string | null;
}

export interface CatalogueParams {
  /** the name of a dialect, or the folder of a source */
  source?: string | null;
  /** only sessions of that directory */
  cwd?: string | null;
  /** only from this time on, such as 2026-01-31T12:00:00Z */
  since?: string | null;
  /** only before this time */
  until?: string | null;
  /** a part of the name of a model that answered, or a pattern with * and ? */
  model?: string | null;
  /** a pattern with * and ? for the title or, without one, the first prompt */
  title?: string | null;
  /** all of these must occur: label, branch, compaction, problem, blob, run */
  has?: Array<string> | null;
  /** the maximum number of rows, up to 1000; the default is 100 */
  limit?: number | null;
  /** next of the previous page */
  cursor?: string | null;
}

export interface SearchParams {
  /** words that must all occur in one entry; "a phrase", head*, *head*, -word */
  query: string;
  /** the parts of entries: user, assistant, tool, thinking, other; the default is all */
  in?: Array<string> | null;
  /** the query is a regular expression (RE2) */
  regexp?: boolean | null;
  /** distinguishes upper and lower case */
  case?: boolean | null;
  /** the name of a dialect, or the folder of a source */
  source?: string | null;
  /** only sessions of that directory */
  cwd?: string | null;
  /** only from this time on, such as 2026-01-31T12:00:00Z */
  since?: string | null;
  /** only before this time */
  until?: string | null;
  /** only entries with that label, in any case; * for any label */
  label?: string | null;
  /** best match first instead of newest first */
  rank?: boolean | null;
  /** the maximum number of hits, up to 1000; the default is 20 */
  limit?: number | null;
}

export interface StatsParams {
  /** the lists of the result: agent, model, project, day; the default is all */
  by?: Array<string> | null;
  /** the name of a dialect, or the folder of a source */
  source?: string | null;
  /** only sessions of that directory */
  cwd?: string | null;
  /** only from this time on, such as 2026-01-31T12:00:00Z */
  since?: string | null;
  /** only before this time */
  until?: string | null;
  /** a part of the name of a model that answered, or a pattern with * and ? */
  model?: string | null;
}

export interface WatchParams {
  /** one session: its path, its id or the beginning of it (also agent:id), or @last; the default is all */
  ref?: string | null;
  /** only sessions of that directory */
  cwd?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** how many of the last entries are sent first */
  last?: number | null;
  /** sends all entries first */
  fromStart?: boolean | null;
}

export interface UnwatchParams {
  /** the handle of a watch */
  watch: string;
}

export interface CheckParams {
  /** a session that is not open: its path, its id or the beginning of it (also agent:id), or @last */
  ref?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
}

export interface RepairParams {
  /** a session: its path, its id or the beginning of it (also agent:id), or @last */
  ref: string;
  /** repairs the file; otherwise the repair is only planned */
  apply?: boolean | null;
  /** attaches entries whose parent is missing to the entry before them */
  reattach?: boolean | null;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
}

export interface ConvertParams {
  /** the dialect of the new session */
  to: string;
  /** a session that is not open: its path, its id or the beginning of it (also agent:id), or @last */
  ref?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** converts only the path to this entry */
  leafId?: string | null;
  /** the folder of the new file; the default is the agent's own */
  dir?: string | null;
}

export interface ResumeCommandParams {
  /** the agent that continues it, as a dialect; the default is its own */
  agent?: string | null;
  /** a session that is not open: its path, its id or the beginning of it (also agent:id), or @last */
  ref?: string | null;
  /** the agent's format, such as omp or pi */
  dialect?: string | null;
  /** the entry to continue from; the default is the leaf */
  leafId?: string | null;
}

export interface RmParams {
  /** a session: its path, its id or the beginning of it (also agent:id), or @last */
  ref: string;
  /** replaces or removes the file even while another program has it open for writing; what that program writes later is lost */
  forceRewrite?: boolean | null;
}

export interface RestoreParams {
  /** the id in the trash, or the beginning of it */
  id: string;
}

export interface HistoryAddParams {
  /** what was typed */
  prompt: string;
  /** the working directory */
  cwd?: string | null;
  /** the history.db of an agent; the default is treeline's own */
  db?: string | null;
}

export interface HistorySearchParams {
  /** words; each must be the beginning of a word in the prompt */
  text: string;
  /** words match inside other words, too: for languages without spaces */
  anywhere?: boolean | null;
  /** only prompts of that directory */
  cwd?: string | null;
  /** the maximum number, up to 1000; the default is 100 */
  limit?: number | null;
  /** adds the entries where each prompt was used, which may read sessions */
  uses?: boolean | null;
  /** the history.db of an agent; the default is treeline's own */
  db?: string | null;
}

export interface HistoryRecentParams {
  /** only prompts of that directory */
  cwd?: string | null;
  /** the maximum number, up to 1000; the default is 100 */
  limit?: number | null;
  /** adds the entries where each prompt was used, which may read sessions */
  uses?: boolean | null;
  /** the history.db of an agent; the default is treeline's own */
  db?: string | null;
}

export interface ListRunsParams {
  /** only runs of that session */
  sessionId?: string | null;
  /** only runs of that directory */
  cwd?: string | null;
  /** the maximum number of runs, up to 1000; the default is 100 */
  limit?: number | null;
  /** next of the previous page */
  cursor?: string | null;
}

export interface ReadRunParams {
  /** a run: its path, its id or the beginning of it (also agent:id), or @last */
  ref: string;
  /** the maximum number of records, up to 1000; the default is 100 */
  limit?: number | null;
  /** next of the previous page */
  cursor?: string | null;
}

// </shapes>

// <client> from rpc.discover; go test ./clients -update writes it
interface ClientMethods {
  /**
   * Starts a session.
   */
  create(params: CreateParams, options?: CallOptions): Promise<Session>;
  /**
   * Opens a file. If it is missing or empty, a session starts there; its header is written at once (pi, if it is
   * missing: with the first message). A file of an old version is migrated, the original kept as <file>.v<N>.bak. A
   * file that is not a session is refused and left as it is; with replaceUnreadable: true it is renamed to
   * <file>.unreadable-<time> and a session starts. sessionDir is for newSession, fork and createBranchedSession; the
   * default is the file's folder. With readOnly: true nothing is written: a missing file is an error, and an old
   * version is migrated in memory.
   */
  open(params: OpenParams, options?: CallOptions): Promise<Session>;
  /**
   * Opens the session that this terminal used last in cwd, otherwise the newest there, or starts one. Sessions of other
   * profiles do not count.
   */
  continueRecent(params: ContinueRecentParams, options?: CallOptions): Promise<Session>;
  /**
   * Starts a session that is never stored.
   */
  inMemory(params?: InMemoryParams, options?: CallOptions): Promise<Session>;
  /**
   * Copies the session in the file source, all branches, into a new one for cwd. The source is only read.
   */
  forkFrom(params: ForkFromParams, options?: CallOptions): Promise<Session>;
  /**
   * What the model would see: of a session or, without one, of entries. Without leafId it is seen from the leaf, of
   * entries from the last; an unknown id means the last entry.
   */
  buildSessionContext(params?: BuildSessionContextParams, options?: CallOptions): Promise<AgentContext>;
  /**
   * Starts a run of an open session, of the session with that id, or of none. header is the run's first record; a
   * missing type, id, session, start or version is filled in. dialect: "codelia" keeps the log where codelia does.
   */
  startRun(params?: StartRunParams, options?: CallOptions): Promise<Recording>;
  /**
   * Appends a record. run_id, ts, and the seq of an llm.request or llm.response are filled in if they are missing. An
   * invalid record is refused (−32602); the run continues.
   */
  appendRecord(params: AppendRecordParams, options?: CallOptions): Promise<Recorded>;
  /**
   * Resumes the recording of a run that has not ended.
   */
  continueRun(params: ContinueRunParams, options?: CallOptions): Promise<Recording>;
  /**
   * Appends run.end, unless appendRecord already did, and closes the log.
   */
  endRun(params: EndRunParams, options?: CallOptions): Promise<void>;
  /**
   * The header and all records of a file, not migrated; [] if it is missing or has no header. Nothing is written.
   */
  loadEntries(params: LoadEntriesParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The JSON values of a text, line by line; lines that are not JSON are skipped.
   */
  parseEntries(params: ParseEntriesParams, options?: CallOptions): Promise<Array<any>>;
  /**
   * The same entries in the current version of the format. Entries without a header count as the oldest version.
   */
  migrateEntries(params: MigrateEntriesParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The path of the newest session in a folder, or null.
   */
  findMostRecent(params: FindMostRecentParams, options?: CallOptions): Promise<string | null>;
  /**
   * The newest sessions of a folder. mtime is in milliseconds since 1970, name is cut to 40 characters.
   */
  getRecentSessions(params: GetRecentSessionsParams, options?: CallOptions): Promise<Array<RecentSession>>;
  /**
   * The sessions of a directory as the agent's own program lists them, newest first; for omp those in the folders of
   * both its program and its document. pi has name? instead of title? and takes modified from the messages, omp from
   * the file. Equal times are ordered by file name, descending. wave-doc is ordered by id, wave by the last message,
   * codelia by the last save; codelia means its sessions. Only files that changed since the last list are read, and of
   * codelia's states that name no directory the beginnings, with those of their runs.
   */
  list(params: ListParams, options?: CallOptions): Promise<Array<AgentRow>>;
  /**
   * The same for all directories, or for one folder or profile.
   */
  listAll(params?: ListAllParams, options?: CallOptions): Promise<Array<AgentRow>>;
  /**
   * Saves the resume state of a session, for an agent (codelia) that keeps it apart from the run log. It replaces the
   * previous state. A schema_version other than 1 is refused, and a state of another one is not replaced.
   */
  saveState(params: SaveStateParams, options?: CallOptions): Promise<Saved>;
  /**
   * The state of a session, or null. resume is what the model sees first: the messages without dangling tool calls and
   * results, results without a tool_call_id and notices of earlier resumes; nothing else is left out. If cwd or root
   * differ from the state's, or from the directory of its last run if it names none, a system message says so after
   * those that begin the conversation. Nothing is written.
   */
  loadState(params: LoadStateParams, options?: CallOptions): Promise<LoadedState | null>;
  /**
   * The sessions of all agents, newest first, page by page. The catalogue is updated first, by reading the files that
   * changed. total counts the rows of all pages. A session that is used while you page moves to the front, and is not
   * on a later page.
   */
  catalogue(params?: CatalogueParams, options?: CallOptions): Promise<Page>;
  /** All rows of catalogue, page by page. */
  iterCatalogue(params?: CatalogueParams, options?: CallOptions): AsyncGenerator<Row, void, undefined>;
  /**
   * Finds entries in all sessions and runs, newest first. treeline search --help explains the query.
   */
  search(params: SearchParams, options?: CallOptions): Promise<SearchResult>;
  /**
   * What sessions used: sessions, messages, tokens and cost, in total and by agent, model, project and day. Forks and
   * copies are not counted twice. Only files that changed are read.
   */
  stats(params?: StatsParams, options?: CallOptions): Promise<Stats>;
  /**
   * The places where treeline looks for sessions.
   */
  sources(params?: NoParams, options?: CallOptions): Promise<Array<Source>>;
  /**
   * Follows what any program writes, to all sessions or to one. Changes are sent as notifications change until unwatch.
   */
  watch(params?: WatchParams, options?: CallOptions): Promise<Watching>;
  /**
   * Ends a watch. No change is sent after the result.
   */
  unwatch(params: UnwatchParams, options?: CallOptions): Promise<void>;
  /**
   * Lists everything that is wrong with a session: an open one, or the one that ref names. Nothing is changed.
   */
  check(params?: CheckParams, options?: CallOptions): Promise<Array<Problem>>;
  /**
   * Plans the repair of a session file, and repairs it with apply: true. The original is kept next to it.
   */
  repair(params: RepairParams, options?: CallOptions): Promise<Plan>;
  /**
   * Creates a session of another agent from an open one, or from the one that ref names, which is only read. The report
   * lists what became of everything.
   */
  convert(params: ConvertParams, options?: CallOptions): Promise<Conversion>;
  /**
   * The command that continues an open session, or the one that ref names, in its own agent or in another one. Another
   * agent continues a converted copy. With leafId that entry is made the leaf first; if the agent's format has no leaf,
   * the path to it becomes a separate session.
   */
  resumeCommand(params?: ResumeCommandParams, options?: CallOptions): Promise<Resume>;
  /**
   * Moves a session to treeline's trash. The id in the result is its name there.
   */
  rm(params: RmParams, options?: CallOptions): Promise<Trashed>;
  /**
   * Puts a session back from the trash, byte for byte. It never overwrites another file.
   */
  restore(params: RestoreParams, options?: CallOptions): Promise<Trashed>;
  /**
   * What is in the trash, the last removed first.
   */
  listTrash(params?: NoParams, options?: CallOptions): Promise<Array<Trashed>>;
  /**
   * Adds a prompt to the history. It is written when the method returns.
   */
  historyAdd(params: HistoryAddParams, options?: CallOptions): Promise<void>;
  /**
   * The prompts that have all words, newest first.
   */
  historySearch(params: HistorySearchParams, options?: CallOptions): Promise<Array<Prompt>>;
  /**
   * The newest prompts.
   */
  historyRecent(params?: HistoryRecentParams, options?: CallOptions): Promise<Array<Prompt>>;
  /**
   * The runs of all agents, newest first, page by page.
   */
  listRuns(params?: ListRunsParams, options?: CallOptions): Promise<RunPage>;
  /** All runs of listRuns, page by page. */
  iterListRuns(params?: ListRunsParams, options?: CallOptions): AsyncGenerator<Run, void, undefined>;
  /**
   * The records of a run, page by page.
   */
  readRun(params: ReadRunParams, options?: CallOptions): Promise<RunRecords>;
  /** All records of readRun, page by page. */
  iterReadRun(params: ReadRunParams, options?: CallOptions): AsyncGenerator<any, void, undefined>;
  /**
   * The version of the program.
   */
  version(params?: NoParams, options?: CallOptions): Promise<Version>;
  /**
   * An [OpenRPC](https://spec.open-rpc.org) document of all methods, with the schemas of their parameters and results.
   */
  discover(params?: NoParams, options?: CallOptions): Promise<OpenRPCDocument>;
}
// </client>

// <session> from rpc.discover; go test ./clients -update writes it
interface SessionMethods {
  /**
   * Starts an empty session in the same folder.
   */
  newSession(params?: NewSessionParams, options?: CallOptions): Promise<Session>;
  /**
   * Copies only the path from the root to leafId. Its labels are appended again.
   */
  createBranchedSession(params: CreateBranchedSessionParams, options?: CallOptions): Promise<Session>;
  /**
   * Copies all branches.
   */
  fork(params?: NoParams, options?: CallOptions): Promise<Session>;
  /**
   * Moves the session to another project directory. In the agent's own folders the file moves to the folder of that
   * directory.
   */
  move(params: MoveParams, options?: CallOptions): Promise<Session>;
  /**
   * Creates the file if entries are still waiting for it. Returns when everything appended survives a machine crash.
   */
  flush(params?: NoParams, options?: CallOptions): Promise<void>;
  /**
   * Syncs the file and closes it. Entries still waiting for their file are dropped. The handle becomes invalid.
   */
  close(): Promise<void>;
  /**
   * Appends a message as the agent writes it.
   */
  appendMessage(params: AppendMessageParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a message of the user in the dialect's own form.
   */
  appendUser(params: AppendUserParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends an answer of the model in the dialect's own form. It may become several entries, which are written
   * together; the result names the last.
   */
  appendAssistant(params: AppendAssistantParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends the result of a tool call in the dialect's own form. Wave and OpenCode keep it in the message with the
   * call: there it is refused, and results are given to appendAssistant.
   */
  appendToolResult(params: AppendToolResultParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a change of the thinking level.
   */
  appendThinkingLevelChange(params: AppendThinkingLevelChangeParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a change of the model: model (provider/id), or provider and modelId. The dialect writes its own spelling.
   */
  appendModelChange(params?: AppendModelChangeParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a compaction: the summary replaces everything before firstKeptEntryId.
   */
  appendCompaction(params: AppendCompactionParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends an extension's own state, which the model does not see.
   */
  appendCustomEntry(params: AppendCustomEntryParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a message of an extension, which the model sees.
   */
  appendCustomMessageEntry(params: AppendCustomMessageEntryParams, options?: CallOptions): Promise<Appended>;
  /**
   * Labels an entry, or removes its label.
   */
  appendLabelChange(params: AppendLabelChangeParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends an entry with the session's name.
   */
  appendSessionInfo(params: AppendSessionInfoParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a change of the mode. Dialects outside pi's family refuse it.
   */
  appendModeChange(params: AppendModeChangeParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends the names of injected rules. Dialects outside pi's family refuse it.
   */
  appendTtsrInjection(params: AppendTtsrInjectionParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends what a sub-agent was started with. Dialects outside pi's family refuse it.
   */
  appendSessionInit(params: AppendSessionInitParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends a change of the tier in which the provider serves requests. Dialects outside of pi's family refuse it.
   */
  appendServiceTierChange(params: AppendServiceTierChangeParams, options?: CallOptions): Promise<Appended>;
  /**
   * Appends which tools of MCP servers the model may call from here on. Dialects outside of pi's family refuse it.
   */
  appendMCPToolSelection(params: AppendMCPToolSelectionParams, options?: CallOptions): Promise<Appended>;
  /**
   * Moves the leaf to id and appends a summary of the abandoned branch there. id must be given.
   */
  branchWithSummary(params: BranchWithSummaryParams, options?: CallOptions): Promise<Appended>;
  /**
   * Moves the leaf: the next entry continues from there. With durable: true an entry that the model does not see is
   * appended there, so that the move survives a restart and the agent sees it too; the leaf is then that entry.
   */
  branch(params: BranchParams, options?: CallOptions): Promise<void>;
  /**
   * Moves the leaf before the first entry.
   */
  resetLeaf(params?: ResetLeafParams, options?: CallOptions): Promise<void>;
  /**
   * Names the session as the agent does: in the header (omp) or with an entry (pi). "" removes the name.
   */
  setSessionName(params: SetSessionNameParams, options?: CallOptions): Promise<void>;
  /**
   * Replaces all entries, atomically. The header stays; a header in entries is ignored. The leaf stays if it still
   * exists.
   */
  rewriteEntries(params: RewriteEntriesParams, options?: CallOptions): Promise<void>;
  /**
   * Replaces the arguments of a tool call. false if no entry has it.
   */
  rewriteToolCallArgs(params: RewriteToolCallArgsParams, options?: CallOptions): Promise<boolean>;
  /**
   * The id of the leaf, or null.
   */
  getLeafId(params?: NoParams, options?: CallOptions): Promise<string | null>;
  /**
   * The leaf, or null.
   */
  getLeafEntry(params?: NoParams, options?: CallOptions): Promise<AgentEntry | null>;
  /**
   * An entry, or null.
   */
  getEntry(params: GetEntryParams, options?: CallOptions): Promise<AgentEntry | null>;
  /**
   * The entries that name parentId as their parent.
   */
  getChildren(params?: GetChildrenParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The entries from the root to fromId; [] if there is no such entry.
   */
  getBranch(params?: GetBranchParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The same as getBranch.
   */
  getPath(params?: GetPathParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The roots, each with its children, which are ordered by time. An entry whose parent is missing is a root. The
   * result nests as deep as the session is long, which is too deep for many JSON parsers; flat: true gives a list.
   */
  getTree(params?: GetTreeParams, options?: CallOptions): Promise<Array<TreeNode>>;
  /**
   * All entries in the order of the log, without the header.
   */
  getEntries(params?: NoParams, options?: CallOptions): Promise<Array<AgentEntry>>;
  /**
   * The header, or null.
   */
  getHeader(params?: NoParams, options?: CallOptions): Promise<AgentHeader | null>;
  /**
   * The label of an entry, or null.
   */
  getLabel(params: GetLabelParams, options?: CallOptions): Promise<string | null>;
  /**
   * The name, or null.
   */
  getSessionName(params?: NoParams, options?: CallOptions): Promise<string | null>;
  /**
   * The path, even while creation is deferred; null in memory.
   */
  getSessionFile(params?: NoParams, options?: CallOptions): Promise<string | null>;
  /**
   * The id of the session.
   */
  getSessionId(params?: NoParams, options?: CallOptions): Promise<string>;
  /**
   * The folder for new sessions and copies; "" in memory.
   */
  getSessionDir(params?: NoParams, options?: CallOptions): Promise<string>;
  /**
   * The session's working directory.
   */
  getCwd(params?: NoParams, options?: CallOptions): Promise<string>;
  /**
   * Whether the session is stored: false in memory.
   */
  isPersisted(params?: NoParams, options?: CallOptions): Promise<boolean>;
  /**
   * The body of a request that continues the session: for POST /v1/messages (anthropic), POST /v1/chat/completions
   * (openai) or POST /v1/responses (responses). The provider accepts it, whichever agent wrote the session: what it
   * would refuse is left out.
   */
  buildRequest(params?: BuildRequestParams, options?: CallOptions): Promise<ModelRequest>;
  /**
   * What the model would see: of a session or, without one, of entries. Without leafId it is seen from the leaf, of
   * entries from the last; an unknown id means the last entry.
   */
  buildSessionContext(params?: BuildSessionContextParams, options?: CallOptions): Promise<AgentContext>;
  /**
   * The same as buildSessionContext in a form that is the same for every agent: messages with a role and parts, as the
   * agent would send them.
   */
  buildParts(params?: BuildPartsParams, options?: CallOptions): Promise<PartsContext>;
  /**
   * Starts a run of an open session, of the session with that id, or of none. header is the run's first record; a
   * missing type, id, session, start or version is filled in. dialect: "codelia" keeps the log where codelia does.
   */
  startRun(params?: StartRunParams, options?: CallOptions): Promise<Recording>;
  /**
   * Lists everything that is wrong with a session: an open one, or the one that ref names. Nothing is changed.
   */
  check(params?: CheckParams, options?: CallOptions): Promise<Array<Problem>>;
  /**
   * Creates a session of another agent from an open one, or from the one that ref names, which is only read. The report
   * lists what became of everything.
   */
  convert(params: ConvertParams, options?: CallOptions): Promise<Conversion>;
  /**
   * The command that continues an open session, or the one that ref names, in its own agent or in another one. Another
   * agent continues a converted copy. With leafId that entry is made the leaf first; if the agent's format has no leaf,
   * the path to it becomes a separate session.
   */
  resumeCommand(params?: ResumeCommandParams, options?: CallOptions): Promise<Resume>;
}
// </session>

export interface ClientOptions {
  /** The program; the default is treeline. */
  program?: string;
  /** Further arguments of `treeline rpc`. */
  arguments?: string[];
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Called with each notification. */
  onNotification?: (method: string, params: any) => void;
}

export interface Client extends ClientMethods {}

/** A connection to its own server process, which ends with it. */
export class Client {
  constructor(options?: ClientOptions);
  /** Ends the server, which flushes and closes all sessions, and returns its exit code. */
  close(): Promise<number | null>;
  /** Calls the method with a name. */
  call(method: string, params?: object, options?: CallOptions): Promise<any>;
  /** Follows sessions like watch, and yields the changes until the loop over them ends. */
  changes(params?: WatchParams, options?: CallOptions): AsyncGenerator<Change, void, undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Session extends SessionMethods {}

/** An open session. */
export class Session {
  constructor(client: Client, opened: Opened);
  readonly client: Client;
  /** The handle, or null after close. */
  readonly handle: string | null;
  readonly id: string;
  /** The agent's format, such as omp or pi. */
  readonly dialect: string;
  /** The file, or null in memory. */
  readonly file: string | null;
  [Symbol.asyncDispose](): Promise<void>;
}
