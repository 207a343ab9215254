-- Groups of logs that are to be compared: those that begin with the same message (first), or those of one session in one source. A
-- transaction that puts or removes a log notes its group. The one that puts what comparing them has found out forgets the group, unless
-- the number is another one by then.

create table treeline_index.pending (
	first  bigint not null,
	source text collate "C" not null,
	id     text collate "C" not null,
	number bigint not null, -- of treeline_index.number
	primary key (first, source, id)
);

-- Those of which an earlier update may have compared only some.
insert into treeline_index.pending select first, '', '', nextval('treeline_index.number')
	from treeline_index.log where first <> 0 group by first having count(*) > 1;
insert into treeline_index.pending select 0, source, id, nextval('treeline_index.number')
	from treeline_index.log where id <> '' group by source, id having count(*) > 1;
