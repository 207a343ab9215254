-- What is derived from logs. Everything here can be dropped; it is made again. Every table has the log in its key, so that a sharded
-- database can distribute by it.

create table treeline_index.log (
	log        uuid primary key,          -- that of treeline.log
	name       text collate "C" not null, -- of the archive: begins with the source and a slash
	source     text collate "C" not null, -- ORIGIN/SOURCE
	generation text not null,             -- with size: what was read
	size       bigint not null,
	entry      bytea not null,            -- all that is known; the columns that follow are for filters and orders
	chunks     integer not null,
	session    boolean not null,
	run        boolean not null,
	id         text collate "C" not null,
	dialect    text collate "C" not null,
	cwd        text collate "C" not null,
	heading    text collate "C" not null, -- in lower case
	at         bigint not null,           -- the time that lists are ordered by, in nanoseconds since 1970
	made       bigint not null,
	used       bigint not null,
	touched    bigint not null,
	messages   bigint not null,
	tokens     bigint not null,
	cost       double precision not null,
	models     text[] not null,
	has        integer not null,
	first      bigint not null            -- 0 if the session has no twins
);

-- One for each order, so that a page is read from an index.
create index log_at on treeline_index.log (at desc, name);
create index log_used on treeline_index.log (used desc, at desc, name);
create index log_made on treeline_index.log (made desc, at desc, name);
create index log_size on treeline_index.log (size desc, at desc, name);
create index log_messages on treeline_index.log (messages desc, at desc, name);
create index log_tokens on treeline_index.log (tokens desc, at desc, name);
create index log_cost on treeline_index.log (cost desc, at desc, name);
create index log_heading on treeline_index.log (heading, at desc, name);
create index log_cwd on treeline_index.log (cwd, at desc, name);
create index log_source on treeline_index.log (source, at desc, name);
create index log_name on treeline_index.log (name);
create index log_id on treeline_index.log (left(id, 8));
create index log_models on treeline_index.log using gin (models) with (fastupdate = off);
create index log_runs on treeline_index.log (used desc, at desc, name) where run;
create index log_first on treeline_index.log (first) where first <> 0;

create table treeline_index.chunk (
	log   uuid not null,
	n     integer not null,
	start bigint not null,
	stop  bigint not null,
	flags integer not null,
	whole boolean not null, -- too many keys: anything may occur
	ids   bytea not null,   -- hashes of the ids of entries
	words integer[] not null,  -- keys of words, and of phrases
	grams smallint[] not null, -- trigrams and bigrams
	primary key (log, n)
);

-- Hashes do not compress.
alter table treeline_index.chunk alter column ids set storage external;
alter table treeline_index.chunk alter column words set storage external;
alter table treeline_index.chunk alter column grams set storage external;

-- Keys that were added wait in a list of up to 128 MB. A program that has put many moves them to the index, all at once: a key that
-- many chunks have is then looked up once, and not once for each chunk.
create index chunk_keys on treeline_index.chunk using gin (words, grams) with (fastupdate = on, gin_pending_list_limit = 131072);
create index chunk_whole on treeline_index.chunk (log) where whole;

-- The models of all sessions, for patterns of names.
create table treeline_index.model (name text collate "C" primary key);

-- How far the changes of treeline.log were looked at, and the encoding of what is kept.
create table treeline_index.mark (
	single   boolean primary key default true check (single),
	xid      xid8 not null,
	encoding bigint not null
);
