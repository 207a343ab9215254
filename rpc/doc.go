// Package rpc is the store as JSON-RPC 2.0, for agents in other languages: one JSON object per line in, one per line out.
//
// The methods are those of the agents' own session managers, under the same names and with the same answers; docs/rpc.md
// lists them. Entries and messages travel as the dialect's own JSON and are never decoded here.
//
// # Order
//
// The requests of one session are carried out in the order in which they come, and so are those without a session. Requests of
// different sessions run concurrently, so answers may come in another order. Clients match them by id.
//
// # Large requests
//
// A line may be as long as memory allows. While 1024 requests wait, no more are read.
package rpc
