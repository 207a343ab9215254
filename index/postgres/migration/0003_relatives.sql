-- Sessions are looked up by what names them: by their id, by the last part of their name, by the parent that they name, and by the
-- session that they were converted from.

alter table treeline_index.log add column parent text collate "C" not null default ''; -- its last part, if it is a path
create index log_parent on treeline_index.log (parent) where parent <> '';
alter table treeline_index.log add column origin text collate "C" not null default '';
create index log_origin on treeline_index.log (origin) where origin <> '';
create index log_session on treeline_index.log (id);
create index log_file on treeline_index.log (substring(name from '[^/]*$'));

-- What happened since a time, for sums and searches; runs in the order of their lists.
create index log_touched on treeline_index.log (touched desc);
create index log_runs_at on treeline_index.log (at desc, name) where run;

-- The parents of logs that were put before are not known. All are read again.
truncate treeline_index.log, treeline_index.chunk, treeline_index.segment, treeline_index.posting, treeline_index.model, treeline_index.mark;
