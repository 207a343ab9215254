package gen

// english are common words of conversations about software, the most frequent first; see zipf.
const english = `the to is a of and in it that for this be with on not I as are from we you if can when but or so an
at by now have will should there file which only one all no then was let test more use also into has its error need
code same new them they what line does first after name other where value still before like check call type read
change here would two add run want because just time works any function fix back write set out up how see path each
both make look last find between without next using get string part over already empty used case list must old than
field right problem these message start open again exactly even well being some way tests order current show once
through think end default point while too instead either left size done text key take few wrong missing about keep
long goes bytes single their option never move number output until failing return makes state most entry under every
command main index means returns working reason reads version gives called during own different user result second
together might session since whole parse given input table log expected small simple down adds above large cannot
follow clear server safe page remove handle around below cache build request update happens always token module
client keeps explain folder context exist another create source limit header leave three close match ends whether
support within question format good data looks needs buffer fails real lock possible process behaviour failure track
longer writes reader better against side probably pass passing thing block comment moment quite later simply fields
branch correct counter actually broken across remaining depends record records offset copy edge split guard memory
lines nothing screen step caller view model apply prefix covered unless unknown early queue sorted window merge
render schedule stream retry thread button column filter query metric signal encode decode socket shard cursor
layout digest binding stale pending fallback threshold verify migrate rollback snapshot heartbeat throttle quota
lease replica partition checkpoint compact flush drain backoff timeout deadline gateway tenant ledger invoice
webhook payload schema fixture golden regression flaky benchmark allocation latency throughput percentile histogram
sampling`

// verbs and nouns form names: parseHeader, lease_table, RetryQueue.
const verbs = `get set read write parse load save find make build open close check merge split apply render update
remove insert append encode decode resolve collect filter sort scan flush sync start stop watch retry handle compare
compute validate format convert copy move lock notify schedule dispatch register`

const nouns = `header record entry index buffer reader writer token stream cache queue table row column key value
node tree leaf path file folder line offset length size count limit state event message request response client
server session user group role policy rule filter query cursor page view layout theme screen button dialog menu
window panel job task worker pool lock lease clock timer span metric counter gauge label tag version schema model
field option config profile secret digest hash block chunk segment shard replica batch snapshot checkpoint journal
ledger invoice order cart price currency tax address country parser lexer symbol scope module package target plan
step stage result error warning notice report summary draft comment thread channel socket frame packet route handler
hook signal bridge adapter mapper renderer formatter encoder decoder`

// syllables form words that exist nowhere else: the rare names of a project.
const syllables = `ba be bi bo bra bri ca ce co cra da de di do dra fa fe fi fo fla ga ge go gra ha he hi ho ja jo
ka ke ki ko kra la le li lo ma me mi mo na ne ni no pa pe pi po pra qua ra re ri ro sa se si so sta ta te ti to tra
va ve vi vo wa we wi xa xe ya yo za ze zo lin mar ten dor vin nel sol ker bas fen gil nor tis`
