// Package rpc is the store as JSON-RPC 2.0, for agents in other languages: one JSON object per line in, one per line out.
//
// The methods that open, write and read one session are those of the agents' own session managers, with the same names and answers. The
// others cover the rest of the store. All are rows of one table (methods.go): a name, a sentence and a function. The function's types are
// those of the parameters and of the result, and they determine decoding, rpc.discover (an OpenRPC document) and docs/rpc.md. Entries and
// messages are passed on as the dialect's own JSON and are never decoded here.
//
// # Notifications
//
// Changes that a watch reports wait in a bounded queue. A client that reads too slowly loses some and is told how many; the store never
// waits for it.
//
// # Order
//
// The requests of one session are carried out in the order in which they arrive, and so are those without a session. Requests of different
// sessions run concurrently, so answers may come in another order. Clients match them by id. Methods without a session that may take long
// have a queue of their own.
//
// # Large requests
//
// A line may be as long as memory allows. While 1024 requests wait, no more are read.
package rpc
