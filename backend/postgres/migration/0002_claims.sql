-- The blobs that are read through a log which a limited writer has written: those that it named before, and those that were put for
-- it. The row without a ref says that it is such a log. Any other log opens every blob.
create table treeline.blob_claim (
	log uuid not null,
	ref bytea not null,
	primary key (log, ref)
);
