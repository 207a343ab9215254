-- A source may be as long as a name, and a row of an index has room for one of them only.
drop index treeline_index.log_source;
create index log_source on treeline_index.log (source, at desc);
