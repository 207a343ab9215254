-- Which chunks have a key, as lists that programs make and read, in place of a GIN index: a list of many chunks is put at once.
-- The index is made anew.

drop table treeline_index.chunk;
truncate treeline_index.log, treeline_index.model, treeline_index.mark;

create sequence treeline_index.number; -- of chunks and of segments

create table treeline_index.chunk (
	log   uuid not null,
	n     integer not null,
	id    bigint not null, -- another one whenever the chunk is put
	start bigint not null,
	stop  bigint not null,
	flags integer not null,
	whole boolean not null, -- too many keys: anything may occur
	ids   bytea not null,   -- hashes of the ids of entries
	primary key (log, n)
);

create unique index chunk_id on treeline_index.chunk (id);
create index chunk_whole on treeline_index.chunk (id) where whole;

-- A segment has the keys of the chunks that one transaction put, or of several segments that were merged.
create table treeline_index.segment (
	segment bigint primary key,
	first   bigint not null,   -- the least id of its chunks
	last    bigint not null,   -- the greatest
	bits    integer not null check (bits between 0 and 31), -- so many of a key, the highest, are its bucket
	chunks  integer not null,
	ids     bigint[] not null  -- of its chunks; some may have been replaced or removed since
);

-- A row has the keys of one bucket, each with the chunks that have it. The package encodes them.
create table treeline_index.posting (
	segment bigint not null,
	bucket  integer not null,
	data    bytea not null,
	primary key (segment, bucket)
);

-- Hashes and lists of small numbers do not compress.
alter table treeline_index.chunk alter column ids set storage external;
alter table treeline_index.posting alter column data set storage external;
