-- Logs, their records, and the generations that were replaced. Every table has the log in its key, so that a sharded database
-- can distribute by it.

create table treeline.log (
	log        uuid primary key,          -- first 16 bytes of sha256(name)
	name       text collate "C" not null, -- byte order; begins with the origin and a slash
	generation bigint not null,           -- counts on after a removal
	size       bigint not null,
	torn       boolean not null,          -- the last line is unterminated
	changed    timestamptz not null,
	writer     text not null,             -- the user and the machine that wrote last
	xid        xid8 not null,             -- the transaction that wrote last: the change feed
	mark       text not null,             -- what a program that copied the log noted
	removed    timestamptz                -- a tombstone
);

create index log_name on treeline.log (name);
create index log_feed on treeline.log (xid);

-- A record is a row, with its line end. A long one is several rows: positions are byte offsets, and rows lie end to end.
create table treeline.record (
	log        uuid not null,
	generation bigint not null,
	position   bigint not null,
	data       bytea not null,
	primary key (log, generation, position)
);

create table treeline.retired (
	log        uuid not null,
	generation bigint not null,
	until      timestamptz not null,      -- then its records are purged
	primary key (log, generation)
);
create index retired_until on treeline.retired (until);

-- What tells this archive from others, for programs that note what they have copied to it.
create table treeline.identity (
	one boolean primary key default true check (one), -- one row
	id  uuid not null
);
insert into treeline.identity (id) values (gen_random_uuid());

-- Blobs are written once. A blob whose row is there has all of its pieces.
create table treeline.blob (
	ref     bytea primary key,
	size    bigint not null,
	written timestamptz not null
);

create table treeline.blob_piece (
	ref  bytea not null,
	n    integer not null,
	data bytea not null,
	primary key (ref, n)
);

-- Blobs are images, which do not compress.
alter table treeline.blob_piece alter column data set storage external;
