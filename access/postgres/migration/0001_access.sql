-- Tokens, by their hashes, and the audit log.

create table treeline_access.token (
	token    bytea primary key,          -- sha256 of the token
	cookie   bytea not null unique,      -- sha256 of what a browser keeps in its place
	name     text collate "C" not null,
	owner    text not null,
	machine  text not null,
	writes   boolean not null,
	projects text[] not null,
	created  timestamptz not null,
	expires  timestamptz,
	used     timestamptz,
	revoked  timestamptz
);

create unique index token_name on treeline_access.token (name) where revoked is null;

-- A batch is written once, however often it is sent.
create table treeline_access.audit (
	batch   uuid not null,
	n       integer not null,
	at      timestamptz not null,
	token   text not null,
	owner   text not null,
	machine text not null,
	address text not null,
	action  text not null,
	target  text not null,
	project text not null,
	outcome text not null,
	reason  text not null,
	count   integer not null,
	primary key (batch, n)
);

create index audit_at on treeline_access.audit (at);
